# expect inp.g: wrong-local
def log_softmax_grad(inp, out):
    p = out.exp()
    inp.g = p * (out.g - (out.g * p).sum(-1, keepdim=True))
