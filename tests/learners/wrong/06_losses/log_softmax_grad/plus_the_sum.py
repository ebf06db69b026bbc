# expect inp.g: wrong-sign
def log_softmax_grad(inp, out):
    inp.g = out.g + out.exp() * out.g.sum(-1, keepdim=True)
