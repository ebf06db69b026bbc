import torch


def dy_dx(x):
    return torch.ones(()).expand(x.shape)
