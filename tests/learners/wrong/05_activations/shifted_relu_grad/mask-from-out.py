# expect inp.g: wrong-point
def shifted_relu_grad(inp, out):
    inp.g = (out > 0).float() * out.g
