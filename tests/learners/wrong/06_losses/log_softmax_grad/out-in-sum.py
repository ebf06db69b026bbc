# expect inp.g: value-for-gradient
def log_softmax_grad(inp, out):
    inp.g = out.g - out.exp() * out.sum(-1, keepdim=True)
