# expect inp.g: extra-factor
def dropout_grad(inp, out, mask, p):
    inp.g = out.g * mask / (1 - p) ** 2
