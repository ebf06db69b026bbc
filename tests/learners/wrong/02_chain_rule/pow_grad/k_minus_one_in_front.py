# expect inp.g: wrong-local
def pow_grad(inp, out, k):
    inp.g = (k - 1) * inp**k * out.g
