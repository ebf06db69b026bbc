# expect inp.g: error
def max_grad(inp, out, dim):
    inp.g = (inp == out) * out.g
