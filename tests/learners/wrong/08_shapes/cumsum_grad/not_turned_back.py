# expect inp.g: wrong-local | transposed
def cumsum_grad(inp, out, dim):
    inp.g = out.g.flip(dim).cumsum(dim)
