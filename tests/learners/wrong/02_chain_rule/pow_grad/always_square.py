# expect inp.g: hard-coded
def pow_grad(inp, out, k):
    inp.g = 2 * inp * out.g
