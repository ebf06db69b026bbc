# expect inp.g: diagonal-only
def log_softmax_grad(inp, out):
    inp.g = (1 - out.exp()) * out.g
