def inv_grad(inp, out):
    g = out.g.clone()
    g *= -1
    g *= inp ** -2
    inp.g = g
