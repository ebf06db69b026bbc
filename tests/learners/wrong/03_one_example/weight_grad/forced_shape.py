# expect return: reshape-for-transpose
import torch
def weight_grad(x, w, b, df):
    g = torch.outer(df, x)
    return g.reshape(w.shape)
