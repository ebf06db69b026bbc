# expect inp.g: error | hard-coded
def sum_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(1)
    inp.g = g.expand_as(inp)
