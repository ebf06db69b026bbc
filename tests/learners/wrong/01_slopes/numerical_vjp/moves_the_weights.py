# expect return: forward-value | wrong-operand
import torch


def numerical_vjp(f, x, v, h):
    grad = torch.zeros_like(v)
    for i in range(v.numel()):
        step = torch.zeros_like(v)
        step.view(-1)[i] = h
        grad.view(-1)[i] = ((f(x) * (v + step)).sum() - (f(x) * (v - step)).sum()) / (2 * h)
    return grad
