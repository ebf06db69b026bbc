# expect return: sum-of-products
import torch


def numerical_vjp(f, x, v, h):
    g = torch.zeros_like(x)
    for i in range(x.numel()):
        e = torch.zeros_like(x)
        e.view(-1)[i] = h
        df = (f(x + e) - f(x - e)) / (2 * h)
        g.view(-1)[i] = df.sum() * v.sum()
    return g
