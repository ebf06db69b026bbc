# expect return: missing-upstream
import torch
def bias_grad(x, w, b, df):
    return torch.ones_like(b)
