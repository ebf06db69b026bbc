# expect weight.g: sum-of-products
import torch


def linear_grad(inp, out, weight, bias):
    inp.g = out.g @ weight
    bias.g = out.g.sum(0)
    weight.g = torch.outer(bias.g, inp.sum(0))
