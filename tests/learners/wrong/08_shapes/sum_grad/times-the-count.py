# expect inp.g: wrong-factor | extra-factor
def sum_grad(inp, out, dim, keepdim):
    n = inp.shape[dim]
    g = out.g if keepdim else out.g.unsqueeze(dim)
    inp.g = g.expand_as(inp) * n
