# expect inp.g: not-finite
def relu_grad(inp, out):
    mask = out / out
    inp.g = out.g * mask
