# expect inp.g: wrong-point | wrong-local
def shifted_relu_grad(inp, out):
    inp.g = out.g * (inp > 0.5)
