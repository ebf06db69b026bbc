# expect inp.g: error
def sum_grad(inp, out, dim, keepdim):
    inp.g = out.g.expand_as(inp)
