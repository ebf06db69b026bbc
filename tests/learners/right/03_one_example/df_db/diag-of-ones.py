import torch


def df_db(x, w, b):
    J = torch.zeros(len(b), len(b))
    J.diagonal().add_(1)
    return J
