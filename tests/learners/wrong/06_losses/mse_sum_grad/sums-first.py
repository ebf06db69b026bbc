# expect inp.g: extra-batch-sum
import torch


def mse_sum_grad(inp, targ):
    inp.g = 2 * (inp.sum() - targ.sum()) * torch.ones_like(inp)
