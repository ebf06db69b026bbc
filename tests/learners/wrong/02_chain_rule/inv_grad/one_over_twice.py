# expect inp.g: missing-local | wrong-sign
def inv_grad(inp, out):
    inp.g = out * out * out.g
