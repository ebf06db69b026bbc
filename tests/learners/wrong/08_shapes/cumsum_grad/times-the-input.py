# expect inp.g: extra-factor
def cumsum_grad(inp, out, dim):
    inp.g = inp * out.g.flip(dim).cumsum(dim).flip(dim)
