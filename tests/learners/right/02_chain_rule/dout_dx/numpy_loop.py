import numpy as np
import torch

def dout_dx(x):
    a = x.numpy().astype(np.float64)
    r = np.zeros_like(a)
    for i in np.ndindex(a.shape):
        r[i] = 6 * (a[i] + 2) / a.size
    return torch.tensor(r, dtype=torch.float32)
