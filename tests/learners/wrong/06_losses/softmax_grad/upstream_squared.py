# expect inp.g: extra-factor
def softmax_grad(inp, out):
    g = out.g * out.g
    inp.g = out * (g - (out * g).sum(-1, keepdim=True))
