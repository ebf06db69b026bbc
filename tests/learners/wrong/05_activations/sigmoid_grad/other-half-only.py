# expect inp.g: missing-local | wrong-local
def sigmoid_grad(inp, out):
    inp.g = (1 - out) * out.g
