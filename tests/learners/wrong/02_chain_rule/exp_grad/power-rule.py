# expect inp.g: wrong-local
def exp_grad(inp, out):
    inp.g = out.g * inp * (inp - 1).exp()
