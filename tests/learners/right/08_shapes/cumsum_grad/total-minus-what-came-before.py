def cumsum_grad(inp, out, dim):
    g = out.g.double()
    inp.g = (g.sum(dim, keepdim=True) - g.cumsum(dim) + g).float()
