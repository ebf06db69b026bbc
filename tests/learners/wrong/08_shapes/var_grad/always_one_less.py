# expect inp.g: hard-coded | wrong-factor
def var_grad(inp, out, dim, unbiased):
    d = inp - inp.mean(dim, keepdim=True)
    inp.g = 2 * d / (inp.shape[dim] - 1) * out.g.unsqueeze(dim)
