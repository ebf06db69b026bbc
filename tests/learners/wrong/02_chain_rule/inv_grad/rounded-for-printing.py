# expect inp.g: imprecise
def inv_grad(inp, out):
    g = -out.g / inp**2
    inp.g = (g * 1000).round() / 1000
