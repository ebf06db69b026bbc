# expect inp.g: extra-factor | wrong-factor
def dropout_grad(inp, out, mask, p):
    keep = 1 - p
    inp.g = out.g / keep * mask / keep
