# expect inp.g: wrong-local
def silu_grad(inp, out):
    s = inp.sigmoid()
    inp.g = 1 * s * (1 - s) * out.g
