# expect inp.g: missing-local
def shifted_relu_grad(inp, out):
    inp.g = (out >= -0.5) * out.g
