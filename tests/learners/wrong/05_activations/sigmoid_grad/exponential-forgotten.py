# expect inp.g: missing-local
def sigmoid_grad(inp, out):
    # d(1/u) = 1/u**2
    inp.g = out.g / (1 + (-inp).exp()).pow(2)
