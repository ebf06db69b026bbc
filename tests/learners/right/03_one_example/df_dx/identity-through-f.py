import torch


def df_dx(x, w, b):
    # f is linear: its columns are f(e_i) - f(0)
    f = lambda t: t @ w
    return torch.cat([f(e)[None] for e in torch.eye(x.numel())]).T
