# expect inp.g: hard-coded | wrong-shape | transposed
def permute_grad(inp, out, order):
    inp.g = out.g.transpose(1, 2)
