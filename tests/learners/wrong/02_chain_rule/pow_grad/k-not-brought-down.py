# expect inp.g: missing-local
def pow_grad(inp, out, k):
    inp.g = inp ** (k - 1) * out.g
