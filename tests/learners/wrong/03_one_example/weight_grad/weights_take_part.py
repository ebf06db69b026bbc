# expect return: extra-factor
import torch


def weight_grad(x, w, b, df):
    return torch.outer(x, df) * w
