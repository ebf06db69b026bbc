# expect inp.g: error | wrong-shape | wrong-dtype
def max_grad(inp, out, dim):
    inp.g = inp.argmax(dim) * out.g
