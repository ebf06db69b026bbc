# expect return: used-autograd
import torch


def df_db(x, w, b):
    return torch.autograd.functional.jacobian(lambda c: x @ w + c, b)
