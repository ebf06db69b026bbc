# expect inp.g: missing-upstream
def dropout_grad(inp, out, mask, p):
    inp.g = mask / (1 - p)
