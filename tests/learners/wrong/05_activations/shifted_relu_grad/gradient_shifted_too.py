# expect inp.g: not-linear | wrong-local
def shifted_relu_grad(inp, out):
    inp.g = (inp > 0) * out.g - 0.5
