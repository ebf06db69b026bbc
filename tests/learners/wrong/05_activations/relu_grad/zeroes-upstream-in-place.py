# expect inp.g: mutated-input
def relu_grad(inp, out):
    g = out.g
    g[inp < 0] = 0
    inp.g = g
