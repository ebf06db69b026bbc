# expect inp.g: wrong-factor
def tanh_grad(inp, out):
    inp.g = (1 - out * out) * out.g / 2
