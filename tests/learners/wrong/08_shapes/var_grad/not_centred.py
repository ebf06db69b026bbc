# expect inp.g: wrong-point | missing-path
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim] - (1 if unbiased else 0)
    inp.g = 2 * inp / n * out.g.unsqueeze(dim)
