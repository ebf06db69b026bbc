# expect inp.g: not-finite
def relu_grad(inp, out):
    inp.g = out.g * (inp / out)
