import torch


def bmm_grad(a, b, out):
    a.g = torch.zeros_like(a)
    b.g = torch.zeros_like(b)
    for i in range(len(a)):
        a.g[i] = out.g[i] @ b[i].T
        b.g[i] = a[i].T @ out.g[i]
