# expect inp.g: wrong-local | missing-local
import math


def gelu_grad(inp, out):
    cdf = (inp / math.sqrt(2)).erf()
    pdf = (-inp ** 2 / 2).exp() / math.sqrt(2 * math.pi)
    inp.g = (cdf + inp * pdf) * out.g
