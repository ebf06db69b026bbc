# expect return: value-for-gradient
import torch


def weight_grad(x, w, b, df):
    f = x @ w + b
    return torch.outer(x, f)
