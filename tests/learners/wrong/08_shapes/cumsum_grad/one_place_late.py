# expect inp.g: missing-path | wrong-local
def cumsum_grad(inp, out, dim):
    total = out.g.sum(dim, keepdim=True)
    inp.g = total - out.g.cumsum(dim)
