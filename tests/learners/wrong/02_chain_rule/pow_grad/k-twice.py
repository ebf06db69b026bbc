# expect inp.g: extra-factor
def pow_grad(inp, out, k):
    dpow = k * inp ** (k - 1)
    inp.g = k * dpow * out.g
