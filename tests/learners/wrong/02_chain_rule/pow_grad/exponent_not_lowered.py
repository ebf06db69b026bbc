# expect inp.g: wrong-local | extra-factor
def pow_grad(inp, out, k):
    inp.g = k * inp**k * out.g
