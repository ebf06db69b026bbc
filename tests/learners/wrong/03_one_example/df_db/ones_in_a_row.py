# expect return: wrong-shape | diagonal-only
import torch


def df_db(x, w, b):
    return torch.ones_like(b)
