# expect inp.g: error | wrong-shape
import torch


def sum_grad(inp, out, dim, keepdim):
    g = out.g.unsqueeze(dim) if keepdim else out.g
    inp.g = torch.ones_like(inp) * g
