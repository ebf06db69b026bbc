# expect return: extra-factor
import torch


def numerical_vjp(f, x, v, h):
    loss = lambda t: (f(t) * v)
    g = torch.zeros_like(x)
    for i in range(x.numel()):
        e = torch.zeros_like(x)
        e.view(-1)[i] = h
        g.view(-1)[i] = ((loss(x + e) - loss(x - e)) * v).sum() / (2 * h)
    return g
