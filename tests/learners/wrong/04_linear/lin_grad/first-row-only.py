# expect w.g: partial-batch
# expect b.g: partial-batch
import torch


def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = torch.outer(inp[0], out.g[0])
    b.g = out.g[0].clone()
