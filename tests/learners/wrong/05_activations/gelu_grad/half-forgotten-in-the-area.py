# expect inp.g: missing-local | wrong-local | wrong-operand
import math


def gelu_grad(inp, out):
    cdf = 1 + (inp / math.sqrt(2)).erf()
    pdf = (-0.5 * inp ** 2).exp() / math.sqrt(2 * math.pi)
    inp.g = out.g * (cdf + inp * pdf)
