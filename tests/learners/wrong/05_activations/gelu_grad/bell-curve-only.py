# expect inp.g: missing-path
import math


def gelu_grad(inp, out):
    pdf = (-inp ** 2 / 2).exp() / math.sqrt(2 * math.pi)
    inp.g = inp * pdf * out.g
