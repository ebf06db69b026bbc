import torch


def lin_grad_nd(inp, out, w, b):
    inp.g = torch.einsum("...m,nm->...n", out.g, w)
    w.g = torch.einsum("...n,...m->nm", inp, out.g)
    b.g = out.g.sum(tuple(range(out.g.dim() - 1)))
