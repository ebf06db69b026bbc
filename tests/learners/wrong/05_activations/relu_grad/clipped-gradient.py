# expect inp.g: not-linear
def relu_grad(inp, out):
    inp.g = out.g.clamp(-5, 5) * (inp > 0)
