# expect return: missing-local | wrong-factor
import torch


def numerical_vjp(f, x, v, h):
    grad = torch.zeros_like(x)
    for i in range(x.numel()):
        step = torch.zeros_like(x)
        step.view(-1)[i] = h
        grad.view(-1)[i] = ((f(x + step) - f(x - step)) * v).sum() / 2
    return grad
