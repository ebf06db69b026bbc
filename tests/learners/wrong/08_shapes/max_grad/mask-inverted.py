# expect inp.g: inverted-mask
def max_grad(inp, out, dim):
    inp.g = (inp < out.unsqueeze(dim)) * out.g.unsqueeze(dim)
