def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim]
    dev = inp - inp.mean(dim, keepdim=True)
    g = out.g.unsqueeze(dim) / (n - unbiased)
    direct = 2 * dev * g
    through_mean = -direct.sum(dim, keepdim=True) / n
    inp.g = direct + through_mean
