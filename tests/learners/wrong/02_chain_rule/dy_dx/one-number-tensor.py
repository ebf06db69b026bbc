# expect return: wrong-shape
import torch


def dy_dx(x):
    return torch.ones_like(x).sum() / x.numel()
