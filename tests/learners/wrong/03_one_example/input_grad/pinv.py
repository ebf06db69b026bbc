# expect return: inverse-for-transpose
import torch


def input_grad(x, w, b, df):
    # f = x @ w, so x = f @ w^-1
    return df @ torch.linalg.pinv(w)
