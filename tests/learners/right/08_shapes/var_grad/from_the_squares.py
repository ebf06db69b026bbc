def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim]
    total = inp.sum(dim, keepdim=True)
    inp.g = (2 * inp - 2 * total / n) / (n - int(unbiased)) * out.g.unsqueeze(dim)
