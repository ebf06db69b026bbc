from torch import *


def exp_grad(inp, out):
    inp.g = mul(exp(inp), out.g)
