# expect inp.g: wrong-operand | wrong-point
import math


def gelu_grad(inp, out):
    cdf = 0.5 * (1 + (inp / 2 ** 0.5).erf())
    pdf = (-inp ** 2 / 2).exp() / math.sqrt(2 * math.pi)
    inp.g = out.g * (cdf + out * pdf)
