# expect inp.g: error
def pow_grad(inp, out):
    inp.g = 2 * inp * out.g
