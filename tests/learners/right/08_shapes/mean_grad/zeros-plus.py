import torch


def mean_grad(inp, out, dim, keepdim):
    g = out.g.reshape([1 if i == dim % inp.dim() else s for i, s in enumerate(inp.shape)])
    inp.g = torch.zeros_like(inp) + g / inp.size(dim)
