# expect inp.g: missing-local | wrong-point
import math


def gelu_grad(inp, out):
    cdf = 0.5 * (1 + inp.erf())
    pdf = (-inp ** 2).exp() / math.sqrt(math.pi)
    inp.g = out.g * (cdf + inp * pdf)
