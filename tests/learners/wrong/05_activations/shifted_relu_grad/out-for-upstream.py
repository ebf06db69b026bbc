# expect inp.g: value-for-gradient
def shifted_relu_grad(inp, out):
    inp.g = out * (inp > 0)
