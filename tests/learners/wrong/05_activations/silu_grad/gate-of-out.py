# expect inp.g: wrong-point
def silu_grad(inp, out):
    s = out.sigmoid()
    inp.g = (s + inp * s * (1 - s)) * out.g
