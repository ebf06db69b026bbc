# expect return: partial-batch
import torch


def numerical_grad(f, x, h):
    grad = torch.zeros_like(x)
    for i in range(1, x.numel()):
        step = torch.zeros_like(x)
        step.view(-1)[i] = h
        grad.view(-1)[i] = (f(x + step) - f(x - step)) / (2 * h)
    return grad
