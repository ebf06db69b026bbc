# expect inp.g: inverted-mask
def dropout_grad(inp, out, mask, p):
    inp.g = out.g * (1 - mask) / (1 - p)
