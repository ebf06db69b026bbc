# expect inp.g: missing-upstream
def pow_grad(inp, out, k):
    inp.g = k * inp ** (k - 1)
