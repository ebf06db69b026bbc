# expect inp.g: error | wrong-shape
def mean_grad(inp, out, dim, keepdim):
    inp.g = out.g.mean(dim, keepdim).expand_as(inp)
