# expect inp.g: missing-local | wrong-local
def sigmoid_grad(inp, out):
    inp.g = out.g - out.g * out
