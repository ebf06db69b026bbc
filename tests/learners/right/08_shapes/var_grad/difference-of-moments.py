def var_grad(inp, out, dim, unbiased):
    n = inp.size(dim)
    ddof = 1 if unbiased else 0
    x = inp.double()
    centred = x - x.sum(dim, keepdim=True) / n
    inp.g = (out.g.double().unsqueeze(dim) * centred * (2 / (n - ddof))).float()
