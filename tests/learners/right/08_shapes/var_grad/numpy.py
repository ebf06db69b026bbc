import numpy as np
import torch


def var_grad(inp, out, dim, unbiased):
    x = inp.numpy()
    dev = x - x.mean(axis=dim, keepdims=True)
    scale = np.float32(2 / (x.shape[dim] - (1 if unbiased else 0)))
    inp.g = torch.from_numpy(scale * dev * np.expand_dims(out.g.numpy(), dim))
