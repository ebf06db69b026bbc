# expect inp.g: wrong-local | inverted-mask
def max_grad(inp, out, dim):
    smallest = inp.min(dim, keepdim=True).values
    inp.g = (inp == smallest) * out.g.unsqueeze(dim)
