# expect inp.g: missing-upstream
import torch


def sum_grad(inp, out, dim, keepdim):
    inp.g = torch.ones_like(inp)
