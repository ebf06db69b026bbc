# expect inp.g: wrong-point | missing-local
def log_softmax_grad(inp, out):
    inp.g = out.g - inp.exp() * out.g.sum(-1, keepdim=True)
