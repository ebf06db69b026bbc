import math
import torch
def dout_dz(z):
    n = math.prod(z.shape)
    return torch.full(z.shape, 1.0 / n)
