# expect inp.g: wrong-local
def shifted_relu_grad(inp, out):
    inp.g = out.g.clamp_min(0) - 0.5
