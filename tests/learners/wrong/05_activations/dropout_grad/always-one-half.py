# expect inp.g: hard-coded | wrong-factor
def dropout_grad(inp, out, mask, p):
    inp.g = out.g * mask * 2
