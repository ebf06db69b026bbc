# expect inp.g: extra-factor
def mean_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(dim)
    inp.g = g * inp / inp.shape[dim]
