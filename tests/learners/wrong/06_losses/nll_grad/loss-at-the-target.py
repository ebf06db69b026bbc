# expect inp.g: wrong-shape | forward-value
def nll_grad(inp, targ):
    inp.g = -inp[range(len(targ)), targ].mean()
