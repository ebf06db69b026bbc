# expect inp.g: missing-upstream | diagonal-only
def softmax_grad(inp, out):
    inp.g = out * (1 - out)
