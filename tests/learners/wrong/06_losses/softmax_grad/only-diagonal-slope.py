# expect inp.g: diagonal-only
def softmax_grad(inp, out):
    inp.g = out.g * out * (1 - out)
