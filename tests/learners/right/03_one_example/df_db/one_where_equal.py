import torch


def df_db(x, w, b):
    jacobian = torch.zeros(len(b), len(b), dtype=b.dtype)
    jacobian.fill_diagonal_(1)
    return jacobian
