# expect inp.g: wrong-sign
import math


def gelu_grad(inp, out):
    share = (1 + (inp / 2**0.5).erf()) / 2
    density = (inp**2 / 2).exp() / (2 * math.pi) ** 0.5
    inp.g = (share + inp * density) * out.g
