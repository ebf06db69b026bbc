def tanh_grad(inp, out):
    s = (2 * inp.double()).sigmoid()
    inp.g = (4 * s * (1 - s) * out.g.double()).float()
