# expect inp.g: wrong-local
def sigmoid_grad(inp, out):
    inp.g = out.g / (out * (1 - out))
