# expect inp.g: missing-upstream
def shifted_relu_grad(inp, out):
    inp.g = inp.gt(0).to(inp.dtype)
