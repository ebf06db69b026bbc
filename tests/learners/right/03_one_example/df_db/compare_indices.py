import torch
def df_db(x, w, b):
    i = torch.arange(b.numel())
    return (i[:, None] == i[None, :]).to(b.dtype)
