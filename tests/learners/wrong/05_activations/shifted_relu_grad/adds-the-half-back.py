# expect inp.g: wrong-local
def shifted_relu_grad(inp, out):
    inp.g = out.g * (inp > 0) + 0.5
