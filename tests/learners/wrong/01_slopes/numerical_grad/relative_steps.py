# expect return: wrong-point | extra-factor
import torch


def numerical_grad(f, x, h):
    grad = torch.zeros_like(x)
    for i in range(x.numel()):
        step = torch.zeros_like(x)
        step.view(-1)[i] = h * x.view(-1)[i]
        grad.view(-1)[i] = (f(x + step) - f(x - step)) / (2 * h)
    return grad
