# expect weight.g: missing-batch-sum
import torch


def linear_grad(inp, out, weight, bias):
    inp.g = out.g @ weight
    weight.g = torch.einsum("bm,bn->bmn", out.g, inp)
    bias.g = out.g.sum(0)
