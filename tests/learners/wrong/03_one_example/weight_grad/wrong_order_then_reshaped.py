# expect return: reshape-for-transpose
import torch


def weight_grad(x, w, b, df):
    return torch.outer(df, x).reshape(w.shape)
