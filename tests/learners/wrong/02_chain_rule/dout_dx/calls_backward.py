# expect return: used-autograd
import torch

def dout_dx(x):
    x = x.clone()
    x.requires_grad = True
    y = x + 2
    z = 3 * y * y
    z.mean().backward()
    return x.grad
