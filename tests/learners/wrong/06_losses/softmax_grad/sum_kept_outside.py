# expect inp.g: missing-local
def softmax_grad(inp, out):
    inp.g = out * out.g - (out * out.g).sum(-1, keepdim=True)
