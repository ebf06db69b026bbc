# expect inp.g: wrong-shape | error | hard-coded
import torch


def sum_grad(inp, out, dim, keepdim):
    g = out.g.squeeze(dim) if keepdim else out.g
    inp.g = torch.stack([g] * inp.shape[dim])
