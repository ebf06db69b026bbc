# expect b.g: wrong-dtype
import torch


def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0, dtype=torch.float64)
