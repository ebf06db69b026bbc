def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim]
    d = inp - inp.mean(dim, keepdim=True)
    g = 2 * d * out.g.unsqueeze(dim) / (n - unbiased)
    inp.g = g - g.mean(dim, keepdim=True)
