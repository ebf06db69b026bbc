# expect inp.g: inverted-mask
def relu_grad(inp, out):
    inp.g = (inp < 0).float() * out.g
