# expect return: wrong-sign
import torch


def df_db(x, w, b):
    return -torch.eye(b.shape[0])
