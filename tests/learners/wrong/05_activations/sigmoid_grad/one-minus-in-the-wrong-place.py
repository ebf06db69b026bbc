# expect inp.g: wrong-local | wrong-point
def sigmoid_grad(inp, out):
    inp.g = (1 - out) * (1 - out) * out.g
