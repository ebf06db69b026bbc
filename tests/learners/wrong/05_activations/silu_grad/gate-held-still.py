# expect inp.g: missing-path
def silu_grad(inp, out):
    s = inp.sigmoid()
    inp.g = inp * s * (1 - s) * out.g
