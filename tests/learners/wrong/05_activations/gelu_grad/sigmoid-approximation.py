# expect inp.g: wrong-local | imprecise
def gelu_grad(inp, out):
    s = (1.702 * inp).sigmoid()
    inp.g = out.g * (s + 1.702 * inp * s * (1 - s))
