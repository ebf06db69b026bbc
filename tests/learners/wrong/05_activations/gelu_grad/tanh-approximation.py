# expect inp.g: wrong-local | imprecise
import math


def gelu_grad(inp, out):
    k = math.sqrt(2 / math.pi)
    t = (k * (inp + 0.044715 * inp ** 3)).tanh()
    inp.g = out.g * (0.5 * (1 + t) + 0.5 * inp * (1 - t ** 2) * k * (1 + 3 * 0.044715 * inp ** 2))
