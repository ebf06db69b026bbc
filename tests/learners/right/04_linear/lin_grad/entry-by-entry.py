import torch


def lin_grad(inp, out, w, b):
    (bs, n), m = inp.shape, len(b)
    inp.g, w.g, b.g = torch.zeros(bs, n), torch.zeros(n, m), torch.zeros(m)
    for i in range(bs):
        for j in range(m):
            b.g[j] += out.g[i, j]
            for k in range(n):
                inp.g[i, k] += out.g[i, j] * w[k, j]
                w.g[k, j] += out.g[i, j] * inp[i, k]
