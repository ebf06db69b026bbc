# expect inp.g: wrong-local
def softmax_grad(inp, out):
    inp.g = out.g - out * out.g.sum(-1, keepdim=True)
