# expect inp.g: extra-factor | wrong-factor
def shifted_relu_grad(inp, out):
    inp.g = (inp > 0) * 0.5 * out.g
