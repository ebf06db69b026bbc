# expect inp.g: mutated-input
def relu_grad(inp, out):
    inp.g = out.g * (inp.clamp_(min=0) > 0)
