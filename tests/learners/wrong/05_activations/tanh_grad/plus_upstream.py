# expect inp.g: wrong-local
def tanh_grad(inp, out):
    inp.g = out.g + (1 - out ** 2)
