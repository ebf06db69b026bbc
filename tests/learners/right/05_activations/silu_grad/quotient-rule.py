import torch


def silu_grad(inp, out):
    # x / (1 + e) with e = exp(-x), so e' = -e
    e = torch.exp(-inp)
    inp.g = ((1 + e) + inp * e) / (1 + e) ** 2 * out.g
