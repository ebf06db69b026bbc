# expect inp.g: error
def softmax_grad(inp, out):
    inp.g = out * (out.g - (out.g * out).sum(-1))
