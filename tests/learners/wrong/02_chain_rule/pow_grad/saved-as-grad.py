# expect inp.g: wrong-attribute
def pow_grad(inp, out, k):
    inp.grad = k * inp ** (k - 1) * out.g
