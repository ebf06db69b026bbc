# expect return: hard-coded
import torch


def dy_dx(x):
    # the derivative of a constant is 0
    return torch.zeros_like(x)
