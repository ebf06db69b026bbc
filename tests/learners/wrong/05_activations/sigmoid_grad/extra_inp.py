# expect inp.g: extra-factor
def sigmoid_grad(inp, out):
    inp.g = inp * out * (1 - out) * out.g
