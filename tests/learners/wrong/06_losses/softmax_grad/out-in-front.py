# expect inp.g: value-for-gradient
def softmax_grad(inp, out):
    inp.g = out * (out - (out * out.g).sum(-1, keepdim=True))
