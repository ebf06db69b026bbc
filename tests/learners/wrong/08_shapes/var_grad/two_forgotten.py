# expect inp.g: missing-local | wrong-factor
def var_grad(inp, out, dim, unbiased):
    d = inp - inp.mean(dim, keepdim=True)
    inp.g = d / (inp.shape[dim] - int(unbiased)) * out.g.unsqueeze(dim)
