# expect inp.g: missing-local | wrong-local
import torch


def max_grad(inp, out, dim):
    inp.g = torch.ones_like(inp) * out.g.unsqueeze(dim)
