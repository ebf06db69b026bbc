import torch
def df_dx(x, w, b):
    n, m = w.shape
    J = torch.zeros(m, n)
    for i in range(m):
        for j in range(n):
            J[i, j] = w[j, i]
    return J
