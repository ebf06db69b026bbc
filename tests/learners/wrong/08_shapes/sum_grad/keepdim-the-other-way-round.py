# expect inp.g: error
def sum_grad(inp, out, dim, keepdim):
    g = out.g.unsqueeze(dim) if keepdim else out.g
    inp.g = g.expand_as(inp)
