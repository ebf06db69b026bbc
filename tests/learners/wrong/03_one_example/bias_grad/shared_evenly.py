# expect return: summed-wrong-axis | mean-for-sum
import torch


def bias_grad(x, w, b, df):
    return torch.ones_like(b) * df.mean()
