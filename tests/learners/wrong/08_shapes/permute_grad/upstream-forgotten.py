# expect inp.g: missing-upstream
import torch


def permute_grad(inp, out, order):
    inp.g = torch.ones(inp.shape)
