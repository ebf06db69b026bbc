# expect inp.g: value-for-gradient
def softmax_grad(inp, out):
    inp.g = out * out.g - out * (out * out).sum(-1, keepdim=True)
