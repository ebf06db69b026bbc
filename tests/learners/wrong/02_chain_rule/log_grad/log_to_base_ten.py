# expect inp.g: wrong-factor
import math


def log_grad(inp, out):
    inp.g = out.g / (inp * math.log(10))
