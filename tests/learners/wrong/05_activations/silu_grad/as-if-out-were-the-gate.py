# expect inp.g: wrong-point | wrong-local
def silu_grad(inp, out):
    inp.g = out * (1 - out) * out.g
