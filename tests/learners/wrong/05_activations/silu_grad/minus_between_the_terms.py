# expect inp.g: wrong-sign
def silu_grad(inp, out):
    gate = inp.sigmoid()
    inp.g = (gate - inp * gate * (1 - gate)) * out.g
