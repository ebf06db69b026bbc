import torch


def mse_grad(inp, targ):
    every = inp - targ
    inp.g = 2 * torch.diagonal(every).unsqueeze(1) / len(targ)
