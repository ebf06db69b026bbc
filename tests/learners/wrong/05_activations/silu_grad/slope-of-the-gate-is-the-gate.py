# expect inp.g: wrong-local
def silu_grad(inp, out):
    s = inp.sigmoid()
    inp.g = out.g * (s + inp * s)
