# expect inp.g: missing-local
def silu_grad(inp, out):
    s = inp.sigmoid()
    inp.g = (1 + inp * s * (1 - s)) * out.g
