# expect inp.g: wrong-local | unknown
def sigmoid_grad(inp, out):
    inp.g = out - (1 - out) * out.g
