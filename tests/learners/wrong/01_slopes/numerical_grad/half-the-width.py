# expect return: missing-local
import torch


def numerical_grad(f, x, h):
    g = torch.empty_like(x)
    for i in range(x.numel()):
        e = torch.zeros_like(x)
        e.view(-1)[i] = h
        g.view(-1)[i] = (f(x + e) - f(x - e)) / h
    return g
