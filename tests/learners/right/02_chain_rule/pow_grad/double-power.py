def pow_grad(inp, out, k):
    x, g = inp.double(), out.g.double()
    inp.g = (g * k * x.pow(k - 1)).float()
