# expect inp.g: value-for-gradient
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim] - int(unbiased)
    inp.g = 2 * (inp - inp.mean(dim, keepdim=True)) / n * out.unsqueeze(dim)
