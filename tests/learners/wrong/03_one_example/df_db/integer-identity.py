# expect return: wrong-dtype
import torch


def df_db(x, w, b):
    m = len(b)
    return torch.tensor([[int(i == j) for i in range(m)] for j in range(m)])
