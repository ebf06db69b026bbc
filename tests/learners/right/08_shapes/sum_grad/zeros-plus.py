import torch


def sum_grad(inp, out, dim, keepdim):
    g = out.g
    if not keepdim:
        g = g.unsqueeze(dim)
    inp.g = torch.zeros_like(inp) + g
