# expect inp.g: missing-local
def relu_grad(inp, out):
    inp.g = 1 * out.g
