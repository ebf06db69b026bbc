# expect return: wrong-shape
import torch


def bias_grad(x, w, b, df):
    return torch.eye(len(b), dtype=b.dtype) * df
