import warnings
def exp_grad(inp, out):
    warnings.warn("recomputing the forward")
    inp.g = inp.exp() * out.g
    return inp.g
