import torch


def cat_grad(a, b, out, dim):
    n = a.shape[dim]
    a.g = out.g.index_select(dim, torch.arange(n))
    b.g = out.g.index_select(dim, torch.arange(n, out.shape[dim]))
