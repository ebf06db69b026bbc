# expect inp.g: wrong-point
def log_softmax_grad(inp, out):
    inp.g = out.g - out * out.g.sum(-1, keepdim=True)
