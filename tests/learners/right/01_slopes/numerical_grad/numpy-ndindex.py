import numpy as np
import torch


def numerical_grad(f, x, h):
    g = np.zeros(tuple(x.shape))
    for idx in np.ndindex(*x.shape):
        plus, minus = x.clone(), x.clone()
        plus[idx] += h
        minus[idx] -= h
        g[idx] = (f(plus) - f(minus)).item() / (2 * h)
    return torch.from_numpy(g)
