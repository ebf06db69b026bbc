# expect inp.g: wrong-local
def exp_grad(inp, out):
    inp.g = inp * (inp - 1).exp() * out.g
