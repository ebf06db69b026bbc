# expect inp.g: wrong-sign
def inv_grad(inp, out):
    inp.g = out.g / inp**2
