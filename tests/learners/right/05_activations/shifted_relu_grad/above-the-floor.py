def shifted_relu_grad(inp, out):
    # closed gates sit exactly on the floor
    inp.g = out.g * (out > -0.5)
