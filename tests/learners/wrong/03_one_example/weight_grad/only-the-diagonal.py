# expect return: diagonal-only
import torch


def weight_grad(x, w, b, df):
    g = torch.zeros_like(w)
    for k in range(min(len(x), len(df))):
        g[k, k] = x[k] * df[k]
    return g
