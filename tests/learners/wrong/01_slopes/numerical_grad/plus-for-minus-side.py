# expect return: wrong-sign
import torch


def numerical_grad(f, x, h):
    g = torch.zeros_like(x)
    for i in range(x.numel()):
        e = torch.zeros(x.numel(), dtype=x.dtype)
        e[i] = h
        e = e.reshape(x.shape)
        g.view(-1)[i] = (f(x - e) - f(x + e)) / (2 * h)
    return g
