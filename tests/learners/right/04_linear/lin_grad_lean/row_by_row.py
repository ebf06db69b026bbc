import torch

def lin_grad_lean(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = torch.zeros_like(w)
    for x, g in zip(inp, out.g):
        w.g.addr_(x, g)
    b.g = out.g.sum(0)
