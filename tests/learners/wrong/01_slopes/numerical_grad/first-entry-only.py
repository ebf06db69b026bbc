# expect return: partial-batch
import torch


def numerical_grad(f, x, h):
    g = torch.zeros_like(x)
    e = torch.zeros_like(x)
    e.view(-1)[0] = h
    g.view(-1)[0] = (f(x + e) - f(x - e)) / (2 * h)
    return g
