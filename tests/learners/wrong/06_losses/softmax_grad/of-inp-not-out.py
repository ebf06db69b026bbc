# expect inp.g: wrong-point
def softmax_grad(inp, out):
    inp.g = inp * (out.g - (inp * out.g).sum(-1, keepdim=True))
