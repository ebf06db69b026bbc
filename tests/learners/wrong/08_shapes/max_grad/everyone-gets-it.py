# expect inp.g: missing-local
def max_grad(inp, out, dim):
    inp.g = out.g.unsqueeze(dim).expand_as(inp)
