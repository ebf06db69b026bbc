# expect inp.g: wrong-local
def log_softmax_grad(inp, out):
    inp.g = out.g - out.g.mean(-1, keepdim=True)
