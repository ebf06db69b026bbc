# expect inp.g: wrong-local
def inv_grad(inp, out):
    inp.g = -out.g / inp
