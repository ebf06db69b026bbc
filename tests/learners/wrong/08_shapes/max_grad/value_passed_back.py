# expect inp.g: extra-factor | value-for-gradient
def max_grad(inp, out, dim):
    mask = inp == out.unsqueeze(dim)
    inp.g = mask * inp * out.g.unsqueeze(dim)
