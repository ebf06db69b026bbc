# expect inp.g: wrong-sign
def exp_grad(inp, out):
    inp.g = -out.g * out
