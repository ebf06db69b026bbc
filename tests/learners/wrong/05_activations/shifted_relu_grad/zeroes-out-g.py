# expect inp.g: mutated-input
def shifted_relu_grad(inp, out):
    inp.g = out.g.mul_(inp > 0)
