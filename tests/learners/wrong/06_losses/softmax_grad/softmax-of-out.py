# expect inp.g: wrong-point
def softmax_grad(inp, out):
    s = out.softmax(-1)
    inp.g = s * (out.g - (out.g * s).sum(-1, keepdim=True))
