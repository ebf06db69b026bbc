# expect inp.g: error | shape-special
def softmax_grad(inp, out):
    inp.g = out * (out.g - (out * out.g).sum(-1))
