# expect return: shape-special | wrong-shape
import torch


def df_db(x, w, b):
    return torch.eye(len(x), dtype=x.dtype)
