# expect inp.g: error
def permute_grad(inp, out, order):
    inp.g = out.g.t()
