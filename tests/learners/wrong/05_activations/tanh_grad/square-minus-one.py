# expect inp.g: wrong-sign
def tanh_grad(inp, out):
    inp.g = (out ** 2 - 1) * out.g
