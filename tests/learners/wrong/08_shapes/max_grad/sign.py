# expect inp.g: wrong-sign
def max_grad(inp, out, dim):
    inp.g = -(inp == out.unsqueeze(dim)).float() * out.g.unsqueeze(dim)
