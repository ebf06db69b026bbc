# expect inp.g: wrong-point | wrong-local
def shifted_relu_grad(inp, out):
    inp.g = (inp > 0.5) * out.g
