# expect inp.g: wrong-factor | extra-factor
def silu_grad(inp, out):
    s = inp.sigmoid()
    inp.g = (s + 2 * inp * s * (1 - s)) * out.g
