# expect inp.g: used-autograd
import torch


def cross_entropy_grad(inp, targ):
    x = inp.clone().requires_grad_()
    torch.nn.functional.cross_entropy(x, targ).backward()
    inp.g = x.grad
