# expect return: mean-for-sum
import torch


def numerical_vjp(f, x, v, h):
    grad = torch.zeros_like(x)
    for i in range(x.numel()):
        step = torch.zeros_like(x)
        step.view(-1)[i] = h
        rise = f(x + step) - f(x - step)
        grad.view(-1)[i] = (rise * v).mean() / (2 * h)
    return grad
