# expect *: memory
import torch

def lin_grad_lean(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = torch.stack([torch.outer(x, g) for x, g in zip(inp, out.g)]).sum(0)
    b.g = out.g.sum(0)
