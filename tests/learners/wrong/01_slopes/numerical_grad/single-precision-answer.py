# expect return: wrong-dtype
import torch


def numerical_grad(f, x, h):
    g = torch.zeros(x.shape, dtype=torch.float32)
    for i in range(x.numel()):
        e = torch.zeros_like(x)
        e.view(-1)[i] = h
        g.view(-1)[i] = (f(x + e) - f(x - e)) / (2 * h)
    return g
