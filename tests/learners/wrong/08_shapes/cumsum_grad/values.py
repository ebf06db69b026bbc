# expect inp.g: value-for-gradient
def cumsum_grad(inp, out, dim):
    inp.g = out.flip(dim).cumsum(dim).flip(dim)
