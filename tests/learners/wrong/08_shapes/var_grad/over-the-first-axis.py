# expect inp.g: hard-coded | error | summed-wrong-axis
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[0] - int(unbiased)
    inp.g = 2 * (inp - inp.mean(0, keepdim=True)) / max(n, 1) * out.g.unsqueeze(0)
