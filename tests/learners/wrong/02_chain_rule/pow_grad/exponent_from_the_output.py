# expect inp.g: wrong-point | wrong-local
def pow_grad(inp, out, k):
    inp.g = k * out ** (k - 1) * out.g
