# expect inp.g: missing-local
def silu_grad(inp, out):
    gate = inp.sigmoid()
    inp.g = (gate + inp * (1 - gate)) * out.g
