# expect inp.g: wrong-point
def tanh_grad(inp, out):
    inp.g = (1 - inp**2) * out.g
