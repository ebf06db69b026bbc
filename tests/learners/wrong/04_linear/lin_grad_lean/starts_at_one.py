# expect w.g: partial-batch
import torch


def lin_grad_lean(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = torch.zeros_like(w)
    for i in range(1, len(inp)):
        w.g += torch.outer(inp[i], out.g[i])
    b.g = out.g.sum(0)
