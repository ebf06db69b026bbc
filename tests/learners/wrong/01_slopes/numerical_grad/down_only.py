# expect return: imprecise | wrong-point
import torch


def numerical_grad(f, x, h):
    grad = torch.zeros_like(x)
    for i in range(x.numel()):
        step = torch.zeros_like(x)
        step.view(-1)[i] = h
        grad.view(-1)[i] = (f(x) - f(x - step)) / h
    return grad
