# expect *: memory
import torch


def lin_grad(inp, out, w, b):
    everything = torch.ones(10**6, 10**6)
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = everything[: len(out.g), 0] @ out.g
