# expect inp.g: diagonal-only
def softmax_grad(inp, out):
    inp.g = out * (1 - out) * out.g
