# expect inp.g: missing-local | wrong-local
def tanh_grad(inp, out):
    inp.g = out.g / inp.cosh()
