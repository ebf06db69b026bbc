# expect return: wrong-local
import torch


def df_db(x, w, b):
    return torch.ones(len(b), len(b), dtype=b.dtype)
