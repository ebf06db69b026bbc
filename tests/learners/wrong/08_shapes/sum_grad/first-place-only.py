# expect inp.g: partial-batch
import torch


def sum_grad(inp, out, dim, keepdim):
    inp.g = torch.zeros_like(inp)
    inp.g.select(dim, 0).copy_(out.g.squeeze(dim) if keepdim else out.g)
