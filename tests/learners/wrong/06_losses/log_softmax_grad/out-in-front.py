# expect inp.g: value-for-gradient
def log_softmax_grad(inp, out):
    inp.g = out - out.exp() * out.g.sum(-1, keepdim=True)
