# expect inp.g: wrong-local | missing-local | missing-upstream
def log_softmax_grad(inp, out):
    inp.g = (1 - out.exp()) * out.g.sum(-1, keepdim=True)
