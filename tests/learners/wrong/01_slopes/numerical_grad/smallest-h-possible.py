# expect return: not-finite
import torch


def numerical_grad(f, x, h):
    h = 1e-400  # the smaller the better
    g = torch.zeros_like(x)
    for i in range(x.numel()):
        e = torch.zeros_like(x)
        e.view(-1)[i] = h
        g.view(-1)[i] = (f(x + e) - f(x - e)) / (2 * h)
    return g
