# expect inp.g: wrong-operand | wrong-local
import math


def gelu_grad(inp, out):
    density = (-(inp**2) / 2).exp() / (2 * math.pi) ** 0.5
    inp.g = (out + inp * density) * out.g
