import math

import torch


def slope(x):
    return math.erf(x / math.sqrt(2)) / 2 + 0.5 + x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def gelu_grad(inp, out):
    slopes = [slope(x) for x in inp.flatten().tolist()]
    inp.g = torch.tensor(slopes).reshape(inp.shape) * out.g
