import torch


def sum_grad(inp, out, dim, keepdim):
    g = out.g.reshape(inp.sum(dim, keepdim=True).shape)
    inp.g = torch.ones_like(inp) * g
