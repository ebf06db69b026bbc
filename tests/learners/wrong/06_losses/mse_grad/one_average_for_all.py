# expect inp.g: extra-batch-sum
import torch


def mse_grad(inp, targ):
    diff = inp - targ.unsqueeze(-1)
    inp.g = torch.full_like(inp, 2 * diff.mean().item())
