# expect inp.g: missing-local
def log_softmax_grad(inp, out):
    inp.g = out.g - out.g.sum(-1, keepdim=True)
