# expect inp.g: wrong-local | extra-batch-sum
def cumsum_grad(inp, out, dim):
    inp.g = out.g.sum(dim, keepdim=True).expand_as(inp)
