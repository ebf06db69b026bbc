# expect inp.g: wrong-local | hard-coded | missing-local
def tanh_grad(inp, out):
    # tanh(x) is about x near 0
    inp.g = out.g * 1.0
