# expect inp.g: missing-path
def silu_grad(inp, out):
    inp.g = inp.sigmoid() * out.g
