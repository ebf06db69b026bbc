# expect inp.g: wrong-sign
def tanh_grad(inp, out):
    inp.g = (1 + out**2) * out.g
