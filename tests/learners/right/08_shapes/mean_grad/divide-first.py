import torch


def mean_grad(inp, out, dim, keepdim):
    share = out.g / inp.size(dim)
    if not keepdim:
        share.unsqueeze_(dim)
    inp.g = torch.ones_like(inp) * share
