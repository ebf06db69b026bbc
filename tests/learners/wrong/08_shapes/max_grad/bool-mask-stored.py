# expect inp.g: wrong-dtype
def max_grad(inp, out, dim):
    inp.g = inp == out.unsqueeze(dim)
