# expect return: used-autograd
import torch

def numerical_grad(f, x, h):
    z = x.detach().clone().requires_grad_(True)
    f(z).backward()
    return z.grad
