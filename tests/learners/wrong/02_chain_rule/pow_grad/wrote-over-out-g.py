# expect inp.g: mutated-input
def pow_grad(inp, out, k):
    out.g *= k * inp ** (k - 1)
    inp.g = out.g
