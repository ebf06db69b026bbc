# expect return: wrong-local | transposed
import torch


def df_db(x, w, b):
    return torch.eye(len(b), dtype=b.dtype).flip(1)
