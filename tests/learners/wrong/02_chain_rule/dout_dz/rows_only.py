# expect return: shape-special | wrong-factor
import torch

def dout_dz(z):
    n = z.shape[0]
    return torch.ones(z.shape) / n
