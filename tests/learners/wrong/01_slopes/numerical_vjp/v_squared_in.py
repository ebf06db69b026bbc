# expect return: extra-factor
import torch

def numerical_vjp(f, x, v, h):
    def s(t):
        return (f(t) * v).sum()
    g = torch.zeros_like(x)
    for i in range(x.numel()):
        e = torch.zeros_like(x)
        e.view(-1)[i] = h
        g.view(-1)[i] = (s(x + e) - s(x - e)) / (2 * h)
    return g * v
