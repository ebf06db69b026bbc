# expect inp.g: wrong-point
def log_softmax_grad(inp, out):
    p = out.exp().softmax(-1)
    inp.g = out.g - p * out.g.sum(-1, keepdim=True)
