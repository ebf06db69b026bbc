# expect inp.g: wrong-factor
import torch


def mean_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(dim)
    inp.g = torch.ones_like(inp) * g / out.numel()
