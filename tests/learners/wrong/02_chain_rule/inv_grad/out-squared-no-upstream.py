# expect inp.g: missing-upstream
def inv_grad(inp, out):
    inp.g = -(out * out)
