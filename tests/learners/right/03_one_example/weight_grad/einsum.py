import torch
def weight_grad(x, w, b, df):
    return torch.einsum("i,j->ij", x, df)
