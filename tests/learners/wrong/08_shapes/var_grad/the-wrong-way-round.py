# expect inp.g: wrong-factor
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim]
    n = n if unbiased else n - 1
    inp.g = 2 * (inp - inp.mean(dim, keepdim=True)) / n * out.g.unsqueeze(dim)
