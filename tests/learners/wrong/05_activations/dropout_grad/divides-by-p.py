# expect inp.g: wrong-factor
def dropout_grad(inp, out, mask, p):
    inp.g = out.g * mask / p
