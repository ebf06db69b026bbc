# expect inp.g: value-for-gradient
def mean_grad(inp, out, dim, keepdim):
    g = out if keepdim else out.unsqueeze(dim)
    inp.g = g.expand_as(inp) / inp.size(dim)
