# expect *: memory
import torch

def contributions(x, g):
    return x.unsqueeze(-1) * g.unsqueeze(1)

def lin_grad_lean(inp, out, w, b):
    ones = torch.ones(inp.shape[0], 1)
    full = contributions(torch.cat([inp, ones], 1), out.g).sum(0)
    w.g = full[:-1]
    b.g = full[-1]
    inp.g = (out.g.unsqueeze(1) * w.unsqueeze(0)).sum(-1)
