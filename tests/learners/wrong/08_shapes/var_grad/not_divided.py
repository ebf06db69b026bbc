# expect inp.g: sum-for-mean | missing-local
def var_grad(inp, out, dim, unbiased):
    inp.g = 2 * (inp - inp.mean(dim, keepdim=True)) * out.g.unsqueeze(dim)
