# expect inp.g: extra-factor
def sigmoid_grad(inp, out):
    inp.g = (out * (1 - out)) ** 2 * out.g
