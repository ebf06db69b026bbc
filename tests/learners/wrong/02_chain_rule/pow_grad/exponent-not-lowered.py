# expect inp.g: wrong-local
def pow_grad(inp, out, k):
    inp.g = out.g * k * inp**k
