# expect inp.g: mutated-input
def sigmoid_grad(inp, out):
    g = out.g
    g *= out * (1 - out)
    inp.g = g
