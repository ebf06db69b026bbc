# expect inp.g: wrong-sign
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim] - int(unbiased)
    inp.g = 2 * (inp.mean(dim, keepdim=True) - inp) / n * out.g.unsqueeze(dim)
