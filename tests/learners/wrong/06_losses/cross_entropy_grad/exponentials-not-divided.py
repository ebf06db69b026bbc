# expect inp.g: missing-local
def cross_entropy_grad(inp, targ):
    g = inp.exp()
    g[range(len(targ)), targ] -= 1
    inp.g = g / len(targ)
