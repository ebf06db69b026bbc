import torch


def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim]
    centring = torch.eye(n) - torch.full((n, n), 1 / n)
    dev = (inp.movedim(dim, -1) @ centring).movedim(-1, dim)
    inp.g = dev * (out.g * 2 / (n - unbiased)).unsqueeze(dim)
