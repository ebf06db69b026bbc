# expect return: wrong-factor | shape-special
import torch
def dout_dz(z):
    rows = z.shape[0] if z.shape else 1
    return torch.full_like(z, 1 / rows)
