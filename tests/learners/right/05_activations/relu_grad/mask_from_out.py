def relu_grad(inp, out):
    inp.g = (out > 0).float() * out.g
