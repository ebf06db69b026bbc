# expect inp.g: transposed
def permute_grad(inp, out, order):
    inp.g = out.g.permute(order)
