# expect inp.g: wrong-point
def silu_grad(inp, out):
    gate = out.sigmoid()
    inp.g = (gate + inp * gate * (1 - gate)) * out.g
