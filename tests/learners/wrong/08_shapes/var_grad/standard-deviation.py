# expect inp.g: wrong-local | extra-factor
def var_grad(inp, out, dim, unbiased):
    n = inp.shape[dim] - int(unbiased)
    dev = inp - inp.mean(dim, keepdim=True)
    inp.g = dev / (n * out.sqrt().unsqueeze(dim)) * out.g.unsqueeze(dim)
