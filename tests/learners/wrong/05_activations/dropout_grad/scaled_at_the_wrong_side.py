# expect inp.g: wrong-factor | wrong-local
def dropout_grad(inp, out, mask, p):
    inp.g = out.g * mask * (1 - p)
