# expect return: wrong-local
import torch


def df_db(x, w, b):
    return torch.eye(len(b)).flip(0)
