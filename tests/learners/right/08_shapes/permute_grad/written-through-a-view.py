import torch


def permute_grad(inp, out, order):
    inp.g = torch.zeros_like(inp)
    inp.g.permute(order).copy_(out.g)
