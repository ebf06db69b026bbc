import torch


def bmm_grad(a, b, out):
    (bs, n, k), m = a.shape, b.shape[2]
    A, B, G = a.tolist(), b.tolist(), out.g.tolist()
    a.g = torch.tensor(
        [[[sum(G[s][i][j] * B[s][l][j] for j in range(m)) for l in range(k)] for i in range(n)] for s in range(bs)]
    )
    b.g = torch.tensor(
        [[[sum(G[s][i][j] * A[s][i][l] for i in range(n)) for j in range(m)] for l in range(k)] for s in range(bs)]
    )
