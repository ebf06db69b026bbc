# expect inp.g: missing-upstream
def sigmoid_grad(inp, out):
    inp.g = out.g * out - out ** 2
