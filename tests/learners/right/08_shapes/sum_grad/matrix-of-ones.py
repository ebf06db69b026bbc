import torch


def sum_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(dim)
    column = torch.ones(inp.shape[dim], 1)
    inp.g = (column @ g.movedim(dim, -1).unsqueeze(-2).reshape(-1, 1, 1)).squeeze(-1)
    inp.g = inp.g.reshape(*g.movedim(dim, -1).shape[:-1], -1).movedim(-1, dim)
