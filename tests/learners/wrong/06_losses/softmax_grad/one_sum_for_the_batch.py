# expect inp.g: summed-wrong-axis | extra-batch-sum
def softmax_grad(inp, out):
    inp.g = out * (out.g - (out.g * out).sum())
