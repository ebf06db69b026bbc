# expect inp.g: extra-factor
def sigmoid_grad(inp, out):
    inp.g = out.g ** 2 * out * (1 - out)
