# expect inp.g: wrong-local
def relu_grad(inp, out):
    inp.g = out.g * (inp.sum(-1, keepdim=True) > 0)
