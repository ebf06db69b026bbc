# expect inp.g: summed-wrong-axis
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim] - int(unbiased)
    inp.g = 2 * (inp - inp.mean()) / n * out.g.unsqueeze(dim)
