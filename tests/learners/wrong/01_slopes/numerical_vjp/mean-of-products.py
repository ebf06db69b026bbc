# expect return: mean-for-sum
import torch


def numerical_vjp(f, x, v, h):
    g = torch.zeros_like(x)
    for i in range(x.numel()):
        e = torch.zeros_like(x)
        e.view(-1)[i] = h
        g.view(-1)[i] = ((f(x + e) - f(x - e)) * v).mean() / (2 * h)
    return g
