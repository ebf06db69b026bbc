# expect inp.g: wrong-local
def relu_grad(inp, out):
    inp.g = out.g * (inp > inp.mean())
