# expect inp.g: overwritten
def cross_entropy_grad(inp, targ):
    g = inp.softmax(-1)
    g[range(len(targ)), targ] = -1
    inp.g = g / len(inp)
