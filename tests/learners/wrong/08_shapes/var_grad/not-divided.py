# expect inp.g: missing-local | sum-for-mean
def var_grad(inp, out, dim, unbiased):
    inp.g = 2 * (inp - inp.mean(dim, keepdim=True)) * out.g.unsqueeze(dim)
