import torch
def dy_dx(x):
    return torch.ones(x.shape)
