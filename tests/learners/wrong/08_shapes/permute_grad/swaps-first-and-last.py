# expect inp.g: error | hard-coded | transposed | wrong-shape
def permute_grad(inp, out, order):
    inp.g = out.g.transpose(0, 2)
