# expect return: elementwise-for-matmul
import torch


def numerical_vjp(f, x, v, h):
    grad = torch.zeros(x.shape, dtype=x.dtype)
    for i in range(x.numel()):
        step = torch.zeros(x.shape, dtype=x.dtype)
        step.view(-1)[i] = h
        grad.view(-1)[i] = (f(x + step) - f(x - step)).sum() / (2 * h)
    return grad * v
