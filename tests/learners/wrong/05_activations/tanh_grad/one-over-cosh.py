# expect inp.g: wrong-local | missing-local
def tanh_grad(inp, out):
    inp.g = out.g / inp.cosh()
