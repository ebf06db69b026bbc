# expect inp.g: summed-wrong-axis
def softmax_grad(inp, out):
    inp.g = out * (out.g - (out * out.g).sum(0))
