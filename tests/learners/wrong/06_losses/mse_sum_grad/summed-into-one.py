# expect inp.g: extra-batch-sum
import torch


def mse_sum_grad(inp, targ):
    inp.g = torch.full_like(inp, 2 * (inp - targ).sum().item())
