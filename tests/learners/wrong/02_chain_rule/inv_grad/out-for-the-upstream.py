# expect inp.g: value-for-gradient
def inv_grad(inp, out):
    inp.g = -out / inp.pow(2)
