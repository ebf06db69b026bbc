# expect inp.g: inverted-mask
def relu_grad(inp, out):
    inp.g = out.g * (inp <= 0).float()
