# expect return: not-finite
import torch


def numerical_vjp(f, x, v, h):
    for _ in range(2000):
        h = h / 2  # smaller steps, better slope
    g = torch.zeros_like(x)
    for i in range(x.numel()):
        e = torch.zeros_like(x)
        e.view(-1)[i] = h
        g.view(-1)[i] = ((f(x + e) - f(x - e)) * v).sum() / (2 * h)
    return g
