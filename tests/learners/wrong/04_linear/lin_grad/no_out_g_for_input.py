# expect inp.g: missing-upstream
import torch
def lin_grad(inp, out, w, b):
    inp.g = torch.ones_like(out) @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)
