import torch

def unbroadcast(g, shape):
    full = (1,) * (g.dim() - len(shape)) + tuple(shape)
    return g.sum_to_size(full).reshape(shape)
