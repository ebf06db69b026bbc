import torch

def df_dx(x, w, b):
    cols = [e @ w for e in torch.eye(len(x), dtype=x.dtype)]
    return torch.stack(cols, dim=1)
