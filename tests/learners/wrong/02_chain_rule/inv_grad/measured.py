# expect inp.g: imprecise
def inv_grad(inp, out):
    h = 1e-2
    inp.g = out.g * (1 / (inp + h) - 1 / (inp - h)) / (2 * h)
