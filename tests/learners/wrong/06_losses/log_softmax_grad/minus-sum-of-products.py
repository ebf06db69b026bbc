# expect inp.g: wrong-local
def log_softmax_grad(inp, out):
    p = inp.softmax(-1)
    inp.g = out.g - (p * out.g).sum(-1, keepdim=True)
