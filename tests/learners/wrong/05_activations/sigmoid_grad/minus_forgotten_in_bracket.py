# expect inp.g: wrong-local | wrong-sign
def sigmoid_grad(inp, out):
    inp.g = out * (out - 1) * out.g
