# expect return: shape-special
import torch


def df_db(x, w, b):
    n = x.shape[0]
    return torch.eye(n)
