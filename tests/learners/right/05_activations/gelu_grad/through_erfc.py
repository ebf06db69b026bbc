import math
import torch


def gelu_grad(inp, out):
    phi = torch.exp(-0.5 * inp * inp) * 0.3989422804014327
    inp.g = out.g * (0.5 * torch.erfc(-inp / math.sqrt(2)) + inp * phi)
