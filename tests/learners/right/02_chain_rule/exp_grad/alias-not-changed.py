def exp_grad(inp, out):
    g = out.g
    g = g * out
    inp.g = g
