# expect inp.g: mean-for-sum | wrong-factor
def max_grad(inp, out, dim):
    mask = inp == out.unsqueeze(dim)
    inp.g = mask * out.g.unsqueeze(dim) / inp.shape[dim]
