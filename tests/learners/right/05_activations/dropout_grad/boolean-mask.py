def dropout_grad(inp, out, mask, p):
    g = out.g / (1 - p)
    g[~mask.bool()] = 0
    inp.g = g
