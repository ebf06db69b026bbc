# expect inp.g: wrong-shape | transposed
def permute_grad(inp, out, order):
    inp.g = out.g.permute(order)
