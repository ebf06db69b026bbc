# expect return: missing-local | sum-for-mean
import torch
def dout_dz(z):
    return torch.ones_like(z)
