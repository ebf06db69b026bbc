# expect inp.g: wrong-point
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim]
    inp.g = 2 * inp * out.g.unsqueeze(dim) / (n - 1 if unbiased else n)
