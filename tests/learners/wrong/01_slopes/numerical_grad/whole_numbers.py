# expect return: wrong-dtype
import torch


def numerical_grad(f, x, h):
    grad = torch.zeros(x.shape, dtype=torch.int64)
    for i in range(x.numel()):
        step = torch.zeros(x.shape, dtype=x.dtype)
        step.view(-1)[i] = h
        grad.view(-1)[i] = ((f(x + step) - f(x - step)) / (2 * h)).int()
    return grad
