# expect inp.g: wrong-sign
def silu_grad(inp, out):
    s = inp.sigmoid()
    inp.g = (s - out * (1 - s)) * out.g
