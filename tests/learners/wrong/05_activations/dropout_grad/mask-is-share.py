# expect inp.g: wrong-local
def dropout_grad(inp, out, mask, p):
    inp.g = out.g * (1 - p)
