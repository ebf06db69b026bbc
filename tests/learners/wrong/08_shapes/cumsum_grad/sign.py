# expect inp.g: wrong-sign
def cumsum_grad(inp, out, dim):
    inp.g = -out.g.flip(dim).cumsum(dim).flip(dim)
