# expect inp.g: wrong-point | wrong-operand
def silu_grad(inp, out):
    s = inp.sigmoid()
    inp.g = (s + inp * out * (1 - out)) * out.g
