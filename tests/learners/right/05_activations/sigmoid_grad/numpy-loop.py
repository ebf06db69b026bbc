import numpy as np
import torch


def sigmoid_grad(inp, out):
    y, g = out.numpy().astype("f8"), out.g.numpy()
    slopes = np.zeros_like(y)
    for i in np.ndindex(y.shape):
        slopes[i] = y[i] - y[i] ** 2
    inp.g = torch.tensor(slopes * g, dtype=torch.float32)
