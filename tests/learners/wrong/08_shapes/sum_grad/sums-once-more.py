# expect inp.g: error | wrong-shape
def sum_grad(inp, out, dim, keepdim):
    inp.g = out.g.sum(dim, keepdim)
