# expect inp.g: wrong-sign
def inv_grad(inp, out):
    inp.g = out.g * out * out
