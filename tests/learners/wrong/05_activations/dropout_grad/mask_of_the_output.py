# expect inp.g: missing-local | wrong-factor
def dropout_grad(inp, out, mask, p):
    inp.g = (out != 0) * out.g
