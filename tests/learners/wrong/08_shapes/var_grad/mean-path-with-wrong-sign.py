# expect inp.g: wrong-sign | wrong-point
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim] - (1 if unbiased else 0)
    inp.g = 2 * (inp + inp.mean(dim, keepdim=True)) / n * out.g.unsqueeze(dim)
