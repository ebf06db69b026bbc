# expect inp.g: wrong-local
def max_grad(inp, out, dim):
    mask = inp > inp.mean(dim, keepdim=True)
    inp.g = mask * out.g.unsqueeze(dim)
