import torch

def _central(s, x, h):
    eye = torch.eye(x.numel(), dtype=x.dtype) * h
    cols = [(s(x + e.view(x.shape)) - s(x - e.view(x.shape))) / (2 * h) for e in eye]
    return torch.stack(cols).view(x.shape)

def numerical_vjp(f, x, v, h):
    return _central(lambda z: (f(z) * v).sum(), x, h)
