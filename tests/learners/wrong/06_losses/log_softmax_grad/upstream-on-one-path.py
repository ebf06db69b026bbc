# expect inp.g: missing-upstream
def log_softmax_grad(inp, out):
    inp.g = out.g - out.exp()
