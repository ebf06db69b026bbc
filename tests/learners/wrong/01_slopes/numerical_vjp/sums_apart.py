# expect return: sum-of-products
import torch

def numerical_vjp(f, x, v, h):
    g = torch.zeros_like(x)
    for i in range(x.numel()):
        hi = x.clone(); hi.view(-1)[i] += h
        lo = x.clone(); lo.view(-1)[i] -= h
        df = (f(hi) - f(lo)) / (2*h)
        g.view(-1)[i] = df.sum() * v.sum()
    return g
