# expect inp.g: wrong-factor | wrong-local
def silu_grad(inp, out):
    s = inp.sigmoid()
    inp.g = out.g * (2 * s + inp * s * (1 - s))
