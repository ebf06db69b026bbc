# expect return: missing-upstream
import torch

def numerical_vjp(f, x, v, h):
    g = torch.zeros_like(x)
    for i in range(x.numel()):
        hi = x.clone(); hi.view(-1)[i] += h
        lo = x.clone(); lo.view(-1)[i] -= h
        g.view(-1)[i] = (f(hi).sum() - f(lo).sum()) / (2*h)
    return g
