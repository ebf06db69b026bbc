# expect inp.g: hard-coded | wrong-local
def pow_grad(inp, out, k):
    inp.g = out.g * 2 * inp
