# expect inp.g: wrong-local
def tanh_grad(inp, out):
    inp.g = out * (1 - out) * out.g
