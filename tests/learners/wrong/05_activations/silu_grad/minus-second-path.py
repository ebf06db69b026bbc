# expect inp.g: wrong-sign
def silu_grad(inp, out):
    s = inp.sigmoid()
    inp.g = out.g * (s - inp * s * (1 - s))
