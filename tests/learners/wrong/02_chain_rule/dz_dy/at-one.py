# expect return: hard-coded
import torch


def dz_dy(y):
    return torch.full_like(y, 6.0)
