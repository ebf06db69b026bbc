def relu_grad(inp, out):
    g = inp * 0
    g[inp > 0] = out.g[inp > 0]
    inp.g = g
