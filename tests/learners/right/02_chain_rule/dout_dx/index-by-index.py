import torch


def dout_dx(x):
    g = torch.zeros(x.numel())
    for i, value in enumerate(x.reshape(-1)):
        g[i] = 6 * (value + 2) / x.numel()
    return g.reshape(x.shape)
