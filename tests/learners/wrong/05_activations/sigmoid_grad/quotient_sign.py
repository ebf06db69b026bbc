# expect inp.g: wrong-sign
def sigmoid_grad(inp, out):
    e = (-inp).exp()
    inp.g = -e / (1 + e) ** 2 * out.g
