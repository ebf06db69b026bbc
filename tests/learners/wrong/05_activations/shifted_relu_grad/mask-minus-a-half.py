# expect inp.g: wrong-local
def shifted_relu_grad(inp, out):
    # relu' is 0 or 1, minus the shift
    slope = (inp > 0).float() - 0.5
    inp.g = slope * out.g
