# expect inp.g: value-for-gradient | forward-value
def max_grad(inp, out, dim):
    inp.g = inp * (inp == out.unsqueeze(dim))
