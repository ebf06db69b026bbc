# expect inp.g: error
def mean_grad(inp, out, dim, keepdim):
    inp.g = inp * 0 + out.g / inp.shape[dim]
