# expect inp.g: missing-path
def softmax_grad(inp, out):
    inp.g = out * out.g.sum(-1, keepdim=True)
