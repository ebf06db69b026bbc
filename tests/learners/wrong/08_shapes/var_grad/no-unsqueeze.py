# expect inp.g: error
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim] - int(unbiased)
    inp.g = 2 * (inp - inp.mean(dim, keepdim=True)) / n * out.g
