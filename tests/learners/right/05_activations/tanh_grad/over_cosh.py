def tanh_grad(inp, out):
    inp.g = out.g / inp.cosh().square()
