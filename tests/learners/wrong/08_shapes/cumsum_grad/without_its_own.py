# expect inp.g: missing-path | wrong-local
def cumsum_grad(inp, out, dim):
    inp.g = out.g.flip(dim).cumsum(dim).flip(dim) - out.g
