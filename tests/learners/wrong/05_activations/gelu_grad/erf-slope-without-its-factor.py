# expect inp.g: missing-local | wrong-local
import math


def gelu_grad(inp, out):
    u = inp / math.sqrt(2)
    inp.g = out.g * (0.5 * (1 + u.erf()) + 0.5 * inp * (-u ** 2).exp() / math.sqrt(2))
