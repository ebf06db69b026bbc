import torch


def df_db(x, w, b):
    j = torch.arange(b.numel())
    return (j[:, None] == j[None, :]).to(b.dtype)
