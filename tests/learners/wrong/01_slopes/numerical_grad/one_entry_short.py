# expect return: partial-batch
import torch


def numerical_grad(f, x, h):
    grad = torch.zeros(x.shape, dtype=x.dtype)
    for i in range(x.numel() - 1):
        step = torch.zeros(x.shape, dtype=x.dtype)
        step.view(-1)[i] = h
        grad.view(-1)[i] = (f(x + step) - f(x - step)) / (2 * h)
    return grad
