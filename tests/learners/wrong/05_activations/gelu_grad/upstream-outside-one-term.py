# expect inp.g: missing-upstream
import math


def gelu_grad(inp, out):
    cdf = 0.5 * (1 + (inp / math.sqrt(2)).erf())
    pdf = (-inp ** 2 / 2).exp() / math.sqrt(2 * math.pi)
    inp.g = cdf * out.g + inp * pdf
