# expect inp.g: returned-not-stored
def sigmoid_grad(inp, out):
    return out * (1 - out) * out.g
