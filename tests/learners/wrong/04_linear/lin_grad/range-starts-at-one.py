# expect b.g: partial-batch
import torch


def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = torch.zeros_like(b)
    for i in range(1, len(out.g)):
        b.g += out.g[i]
