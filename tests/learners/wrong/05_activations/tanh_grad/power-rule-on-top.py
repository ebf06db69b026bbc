# expect inp.g: wrong-local
def tanh_grad(inp, out):
    inp.g = -2 * out * out.g
