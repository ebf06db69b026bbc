# expect inp.g: wrong-shape
def relu_grad(inp, out):
    inp.g = out.g[inp > 0]
