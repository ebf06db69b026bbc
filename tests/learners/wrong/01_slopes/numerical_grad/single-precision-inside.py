# expect return: imprecise
import torch


def numerical_grad(f, x, h):
    small = x.float()
    g = torch.zeros_like(small)
    for i in range(x.numel()):
        e = torch.zeros_like(small)
        e.view(-1)[i] = h
        g.view(-1)[i] = (f(small + e) - f(small - e)) / (2 * h)
    return g.to(x.dtype)
