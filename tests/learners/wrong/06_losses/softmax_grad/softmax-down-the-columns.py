# expect inp.g: summed-wrong-axis
def softmax_grad(inp, out):
    s = inp.softmax(dim=0)
    inp.g = s * (out.g - (out.g * s).sum(0))
