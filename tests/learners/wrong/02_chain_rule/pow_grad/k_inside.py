# expect inp.g: wrong-local
def pow_grad(inp, out, k):
    inp.g = (k * inp) ** (k - 1) * out.g
