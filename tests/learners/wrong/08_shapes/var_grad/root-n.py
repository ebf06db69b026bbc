# expect inp.g: wrong-factor
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim] - unbiased
    d = inp - inp.mean(dim, keepdim=True)
    inp.g = 2 * d / n ** 0.5 * out.g.unsqueeze(dim)
