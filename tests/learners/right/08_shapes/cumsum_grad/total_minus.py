def cumsum_grad(inp, out, dim):
    inp.g = out.g.sum(dim, keepdim=True) - out.g.cumsum(dim) + out.g
