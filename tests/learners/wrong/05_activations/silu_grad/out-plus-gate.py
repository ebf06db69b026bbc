# expect inp.g: wrong-local | missing-local
def silu_grad(inp, out):
    inp.g = (out + inp.sigmoid()) * out.g
