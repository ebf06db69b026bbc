# expect inp.g: summed-wrong-axis | wrong-point
def softmax_grad(inp, out):
    p = inp.softmax(0)
    inp.g = p * (out.g - (p * out.g).sum(0))
