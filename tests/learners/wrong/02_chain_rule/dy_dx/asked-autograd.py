# expect return: used-autograd
import torch


def dy_dx(x):
    x = x.detach().clone().requires_grad_()
    y = x + 2
    return torch.autograd.grad(y.sum(), x)[0]
