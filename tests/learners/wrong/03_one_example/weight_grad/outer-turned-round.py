# expect return: transposed
import torch


def weight_grad(x, w, b, df):
    return torch.outer(df, x)
