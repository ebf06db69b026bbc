import numpy as np
import torch


def dz_dy(y):
    a = y.numpy()
    return torch.from_numpy(np.multiply(6, a, dtype=a.dtype))
