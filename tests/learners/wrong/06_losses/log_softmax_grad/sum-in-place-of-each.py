# expect inp.g: missing-path
def log_softmax_grad(inp, out):
    inp.g = -out.exp() * out.g.sum(1, keepdim=True)
