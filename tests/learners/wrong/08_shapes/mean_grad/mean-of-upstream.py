# expect inp.g: extra-batch-sum
def mean_grad(inp, out, dim, keepdim):
    g = out.g if keepdim else out.g.unsqueeze(dim)
    inp.g = (g.mean() + 0 * inp) / inp.shape[dim]
