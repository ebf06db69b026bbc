# expect inp.g: wrong-factor | extra-factor
def dropout_grad(inp, out, mask, p):
    inp.g = out.g * mask * p / (1 - p)
