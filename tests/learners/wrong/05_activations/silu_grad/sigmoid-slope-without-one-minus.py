# expect inp.g: wrong-local | missing-local
def silu_grad(inp, out):
    s = inp.sigmoid()
    inp.g = (s + inp * s * s) * out.g
