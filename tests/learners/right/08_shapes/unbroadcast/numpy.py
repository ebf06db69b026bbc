import numpy as np
import torch


def unbroadcast(g, shape):
    a = g.numpy()
    padded = (1,) * (a.ndim - len(shape)) + tuple(shape)
    axes = tuple(i for i, s in enumerate(padded) if s == 1)
    return torch.from_numpy(np.sum(a, axis=axes, keepdims=True).reshape(shape))
