# expect inp.g: summed-wrong-axis
def log_softmax_grad(inp, out):
    inp.g = out.g - out.exp() * out.g.sum(0, keepdim=True)
