# expect return: imprecise
import torch


def numerical_vjp(f, x, v, h):
    base = (f(x) * v).sum()
    g = torch.zeros_like(x)
    for i in range(x.numel()):
        moved = x.clone()
        moved.view(-1)[i] += h
        g.view(-1)[i] = ((f(moved) * v).sum() - base) / h
    return g
