import torch


def mse_grad(inp, targ):
    d = torch.einsum("bi->b", inp) - targ
    inp.g = torch.stack([d + d], 1).div(d.numel())
