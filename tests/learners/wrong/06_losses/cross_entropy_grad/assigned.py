# expect inp.g: overwritten
def cross_entropy_grad(inp, targ):
    g = inp.softmax(-1) / len(inp)
    g[range(len(targ)), targ] = -1 / len(inp)
    inp.g = g
