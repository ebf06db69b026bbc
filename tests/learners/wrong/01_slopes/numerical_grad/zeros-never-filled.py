# expect return: hard-coded
import torch


def numerical_grad(f, x, h):
    g = torch.zeros_like(x)
    for i in range(x.numel()):
        e = torch.zeros_like(x)
        e.view(-1)[i] = h
        d = (f(x + e) - f(x - e)) / (2 * h)
    return g
