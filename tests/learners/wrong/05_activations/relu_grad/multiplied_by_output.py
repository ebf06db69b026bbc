# expect inp.g: wrong-local | extra-factor
def relu_grad(inp, out):
    inp.g = out * out.g
