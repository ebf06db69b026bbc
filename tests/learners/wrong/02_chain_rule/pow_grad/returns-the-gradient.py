# expect inp.g: returned-not-stored
def pow_grad(inp, out, k):
    g = k * inp ** (k - 1) * out.g
    return g
