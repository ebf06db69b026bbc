# expect inp.g: missing-local
def softmax_grad(inp, out):
    inp.g = out * (out.g - out.g.mean(-1, keepdim=True))
