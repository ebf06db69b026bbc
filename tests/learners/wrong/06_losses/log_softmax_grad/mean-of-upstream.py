# expect inp.g: mean-for-sum
def log_softmax_grad(inp, out):
    inp.g = out.g - out.exp() * out.g.mean(-1, keepdim=True)
