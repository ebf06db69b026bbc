# expect inp.g: wrong-shape | hard-coded | transposed
def permute_grad(inp, out, order):
    inp.g = out.g.permute([order[i] for i in order])
