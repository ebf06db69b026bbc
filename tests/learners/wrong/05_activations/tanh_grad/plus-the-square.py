# expect inp.g: wrong-local | wrong-sign
def tanh_grad(inp, out):
    inp.g = out.g * (1 + out * out)
