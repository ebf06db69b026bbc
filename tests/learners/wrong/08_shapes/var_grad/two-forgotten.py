# expect inp.g: missing-local
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim]
    dev = inp - inp.mean(dim, keepdim=True)
    inp.g = dev * out.g.unsqueeze(dim) / (n - 1 if unbiased else n)
