# expect inp.g: inverted-mask
def shifted_relu_grad(inp, out):
    g = out.g.clone()
    g[inp > 0] = 0
    inp.g = g
