# expect inp.g: wrong-local
def sigmoid_grad(inp, out):
    inp.g = (1 - out**2) * out.g
