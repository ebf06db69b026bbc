# expect inp.g: wrong-point
def silu_grad(inp, out):
    inp.g = (inp.sigmoid() + inp * (inp * (1 - inp))) * out.g
