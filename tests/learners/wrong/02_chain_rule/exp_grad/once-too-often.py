# expect inp.g: extra-factor
def exp_grad(inp, out):
    inp.g = inp.exp() * out * out.g
