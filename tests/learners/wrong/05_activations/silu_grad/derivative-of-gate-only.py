# expect inp.g: wrong-local | missing-path
def silu_grad(inp, out):
    s = inp.sigmoid()
    inp.g = out.g * s * (1 - s)
