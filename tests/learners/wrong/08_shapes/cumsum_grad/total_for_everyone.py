# expect inp.g: wrong-local
def cumsum_grad(inp, out, dim):
    inp.g = out.g.sum(dim, keepdim=True).expand(inp.shape)
