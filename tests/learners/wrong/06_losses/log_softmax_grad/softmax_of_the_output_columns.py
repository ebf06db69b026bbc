# expect inp.g: summed-wrong-axis
def log_softmax_grad(inp, out):
    inp.g = out.g - inp.softmax(0) * out.g.sum(0, keepdim=True)
