# expect inp.g: wrong-local | wrong-point
def silu_grad(inp, out):
    inp.g = out.g * out.g.sigmoid()
