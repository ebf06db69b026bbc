import numpy as np
import torch


def lin_grad(inp, out, w, b):
    x, g, W = inp.numpy(), out.g.numpy(), w.numpy()
    grads = g @ W.T, x.T @ g, np.add.reduce(g, axis=0)
    inp.g, w.g, b.g = map(torch.from_numpy, grads)
