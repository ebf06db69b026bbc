# expect inp.g: wrong-point
def silu_grad(inp, out):
    gate = inp.sigmoid()
    inp.g = (gate + inp * out * (1 - out)) * out.g
