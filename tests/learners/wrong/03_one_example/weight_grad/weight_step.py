# expect return: wrong-local
import torch

def weight_grad(x, w, b, df):
    return w - torch.outer(x, df)
