# expect inp.g: wrong-factor
def tanh_grad(inp, out):
    inp.g = 0.5 * (1 - out.pow(2)) * out.g
