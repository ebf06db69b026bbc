# expect return: overwritten | partial-batch
import torch


def input_grad(x, w, b, df):
    g = torch.zeros_like(x)
    for j in range(len(df)):
        g = w[:, j] * df[j]
    return g
