# expect inp.g: wrong-sign
def softmax_grad(inp, out):
    inp.g = out * (out.g + (out.g * out).sum(-1, keepdim=True))
