# expect b.g: missing-upstream
import torch


def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = torch.ones_like(b)
