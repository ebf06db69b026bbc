# expect inp.g: missing-path | overwritten
def silu_grad(inp, out):
    s = inp.sigmoid()
    inp.g = s * out.g
    inp.g = inp * s * (1 - s) * out.g
