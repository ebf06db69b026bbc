# expect inp.g: mean-for-sum
def sum_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(dim)
    inp.g = g.expand_as(inp) / inp.shape[dim]
