# expect inp.g: missing-upstream
import torch


def mean_grad(inp, out, dim, keepdim):
    inp.g = torch.ones_like(inp) / inp.shape[dim]
