import torch


def numerical_grad(f, x, h):
    steps = h * torch.eye(x.numel(), dtype=x.dtype)
    slopes = [(f(x + s.reshape(x.shape)) - f(x - s.reshape(x.shape))) / h / 2 for s in steps]
    return torch.stack(slopes).view_as(x)
