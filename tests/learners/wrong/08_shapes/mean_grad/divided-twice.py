# expect inp.g: extra-factor
def mean_grad(inp, out, dim, keepdim):
    n = inp.shape[dim]
    g = (out.g if keepdim else out.g.unsqueeze(dim)) / n
    inp.g = g.expand_as(inp) / n
