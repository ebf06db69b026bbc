# expect inp.g: summed-wrong-axis
def softmax_grad(inp, out):
    inp.g = out * (out.g - (out.g * out).sum(0, keepdim=True))
