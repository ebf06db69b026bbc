# expect inp.g: wrong-sign
def softmax_grad(inp, out):
    inp.g = out * ((out * out.g).sum(-1, keepdim=True) - out.g)
