# expect inp.g: missing-local
import math


def gelu_grad(inp, out):
    u = inp / math.sqrt(2)
    cdf = 0.5 * (1 + u.erf())
    erf_slope = 2 / math.sqrt(math.pi) * (-u ** 2).exp()
    inp.g = out.g * (cdf + 0.5 * inp * erf_slope)
