# expect inp.g: wrong-factor
def sigmoid_grad(inp, out):
    inp.g = 2 * out.g * out * (1 - out)
