# expect inp.g: missing-upstream
def softmax_grad(inp, out):
    inp.g = out * (out.g - out.sum(-1, keepdim=True))
