# expect inp.g: wrong-local | extra-factor
import torch


def cumsum_grad(inp, out, dim):
    counts = torch.ones_like(inp).flip(dim).cumsum(dim).flip(dim)
    inp.g = out.g * counts
