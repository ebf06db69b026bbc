# expect inp.g: mutated-input
def nll_grad(inp, targ):
    inp.g = inp
    inp.g.zero_()
    inp.g[range(len(targ)), targ] = -1 / len(targ)
