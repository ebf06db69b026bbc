# expect inp.g: error
def log_softmax_grad(inp, out):
    inp.g = out.g - out.exp() * out.g.sum(dim=1)
