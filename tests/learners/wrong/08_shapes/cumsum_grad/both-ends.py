# expect inp.g: wrong-local | missing-path | extra-factor | unknown
def cumsum_grad(inp, out, dim):
    inp.g = out.g.cumsum(dim) + out.g.flip(dim).cumsum(dim).flip(dim)
