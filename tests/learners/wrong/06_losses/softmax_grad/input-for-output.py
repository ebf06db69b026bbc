# expect inp.g: wrong-point
def softmax_grad(inp, out):
    inp.g = inp * (out.g - (out.g * inp).sum(-1, keepdim=True))
