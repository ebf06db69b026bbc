# expect inp.g: mutated-input
def relu_grad(inp, out):
    dx = out.g
    dx[inp <= 0] = 0
    inp.g = dx
