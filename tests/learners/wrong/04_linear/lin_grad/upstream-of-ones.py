# expect inp.g: missing-upstream
# expect w.g: missing-upstream
import torch


def lin_grad(inp, out, w, b):
    ones = torch.ones_like(out)
    inp.g = ones @ w.t()
    w.g = inp.t() @ ones
    b.g = out.g.sum(0)
