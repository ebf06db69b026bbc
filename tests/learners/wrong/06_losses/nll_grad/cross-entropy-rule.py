# expect inp.g: wrong-local
def nll_grad(inp, targ):
    g = inp.softmax(-1)
    g[range(len(targ)), targ] -= 1
    inp.g = g / len(targ)
