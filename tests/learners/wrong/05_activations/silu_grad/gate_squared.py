# expect inp.g: wrong-local | missing-local
def silu_grad(inp, out):
    gate = inp.sigmoid()
    inp.g = (gate + inp * gate**2) * out.g
