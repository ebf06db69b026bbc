# expect inp.g: wrong-point
def sigmoid_grad(inp, out):
    s = out.sigmoid()
    inp.g = s * (1 - s) * out.g
