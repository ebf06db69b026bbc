# expect inp.g: missing-local
def shifted_relu_grad(inp, out):
    inp.g = out.g.clone()
