# expect inp.g: hard-coded | wrong-factor
def var_grad(inp, out, dim, unbiased):
    dev = inp - inp.mean(dim, keepdim=True)
    inp.g = 2 * dev * out.g.unsqueeze(dim) / (inp.shape[dim] - 1)
