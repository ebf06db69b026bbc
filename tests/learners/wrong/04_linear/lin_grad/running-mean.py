# expect w.g: wrong-factor
import torch


def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = torch.zeros_like(w)
    for x, g in zip(inp, out.g):
        w.g = 0.9 * w.g + 0.1 * torch.outer(x, g)
    b.g = out.g.sum(0)
