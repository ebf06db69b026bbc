# expect inp.g: wrong-factor
def mean_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(dim)
    inp.g = g.expand_as(inp) / inp.numel()
