# expect return: mean-for-sum | wrong-factor
import torch


def weight_grad(x, w, b, df):
    return torch.outer(x, df) / len(x)
