# expect inp.g: wrong-local
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim] - int(unbiased)
    inp.g = 2 * (inp - inp.mean(dim, keepdim=True)) ** 2 / n * out.g.unsqueeze(dim)
