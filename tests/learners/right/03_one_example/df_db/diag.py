import torch
def df_db(x, w, b):
    return torch.diag(torch.ones(len(b)))
