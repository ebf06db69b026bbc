# expect inp.g: value-for-gradient
def pow_grad(inp, out, k):
    inp.g = k * inp ** (k - 1) * out
