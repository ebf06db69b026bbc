import torch


def weight_grad(x, w, b, df):
    g = torch.zeros(w.shape)
    for i, xi in enumerate(x):
        for j, dj in enumerate(df):
            g[i, j] = xi * dj
    return g
