# expect return: inverted-mask
import torch


def df_db(x, w, b):
    return 1 - torch.eye(len(b), dtype=b.dtype)
