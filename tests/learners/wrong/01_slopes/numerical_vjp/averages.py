# expect return: mean-for-sum
import torch

def numerical_vjp(f, x, v, h):
    def scalar(z):
        return (f(z) * v).mean()
    g = torch.zeros_like(x)
    for i in range(x.numel()):
        e = torch.zeros_like(x)
        e.view(-1)[i] = h
        g.view(-1)[i] = (scalar(x + e) - scalar(x - e)) / (2*h)
    return g
