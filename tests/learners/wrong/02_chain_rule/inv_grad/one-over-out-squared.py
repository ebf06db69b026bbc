# expect inp.g: wrong-point
def inv_grad(inp, out):
    inp.g = -out.g / out**2
