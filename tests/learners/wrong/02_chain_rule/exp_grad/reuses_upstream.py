# expect inp.g: mutated-input
def exp_grad(inp, out):
    g = out.g
    g *= out
    inp.g = g
