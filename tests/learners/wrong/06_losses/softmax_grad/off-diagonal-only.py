# expect inp.g: missing-path
def softmax_grad(inp, out):
    total = (out * out.g).sum(-1, keepdim=True)
    inp.g = -out * (total - out * out.g)
