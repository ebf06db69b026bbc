# expect return: used-autograd
import torch


def numerical_vjp(f, x, v, h):
    out, pull = torch.func.vjp(f, x)
    return pull(v)[0]
