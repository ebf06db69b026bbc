# expect inp.g: not-linear | wrong-point
def relu_grad(inp, out):
    inp.g = out.g.clamp(min=0)
