# expect return: value-for-gradient | extra-factor
import torch


def df_db(x, w, b):
    return torch.diag(b)
