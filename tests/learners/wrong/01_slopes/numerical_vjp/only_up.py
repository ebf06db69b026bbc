# expect return: imprecise | wrong-point
import torch


def numerical_vjp(f, x, v, h):
    grad = torch.zeros_like(x)
    base = (f(x) * v).sum()
    for i in range(x.numel()):
        step = torch.zeros_like(x)
        step.view(-1)[i] = h
        grad.view(-1)[i] = ((f(x + step) * v).sum() - base) / h
    return grad
