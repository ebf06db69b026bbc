# expect inp.g: sum-for-mean
def var_grad(inp, out, dim, unbiased):
    d = inp - inp.sum(dim, keepdim=True)
    inp.g = 2 * d / (inp.shape[dim] - int(unbiased)) * out.g.unsqueeze(dim)
