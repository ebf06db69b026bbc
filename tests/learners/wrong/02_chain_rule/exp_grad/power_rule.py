# expect inp.g: wrong-local | unknown
def exp_grad(inp, out):
    # d/dx a^x = x a^(x-1)
    inp.g = out.g * inp * (inp - 1).exp()
