import math

import torch


def gelu_grad(inp, out):
    tail = torch.erfc(inp / math.sqrt(2)) / 2
    bell = torch.exp(-inp * inp / 2) * 0.3989422804014327
    inp.g = torch.addcmul(out.g, out.g, inp * bell - tail)
