# expect inp.g: wrong-local | wrong-point
import math
import torch

def gelu_grad(inp, out):
    cdf = 0.5 * (1 + torch.erf(inp))
    pdf = torch.exp(-0.5 * inp ** 2) / math.sqrt(2 * math.pi)
    inp.g = out.g * (cdf + inp * pdf)
