# expect inp.g: wrong-point
def exp_grad(inp, out):
    inp.g = out.exp() * out.g
