# expect w.g: overwritten | partial-batch
import torch
def lin_grad_lean(inp, out, w, b):
    inp.g = out.g @ w.t()
    for x, g in zip(inp, out.g):
        w.g = torch.outer(x, g)
    b.g = out.g.sum(0)
