# expect return: diagonal-only
import torch


def input_grad(x, w, b, df):
    g = torch.zeros_like(x)
    for i in range(min(w.shape)):
        g[i] = w[i, i] * df[i]
    return g
