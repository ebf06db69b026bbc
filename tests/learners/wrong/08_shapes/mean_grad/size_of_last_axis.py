# expect inp.g: wrong-factor | hard-coded
import torch


def mean_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(dim)
    inp.g = torch.ones_like(inp) * g / inp.shape[-1]
