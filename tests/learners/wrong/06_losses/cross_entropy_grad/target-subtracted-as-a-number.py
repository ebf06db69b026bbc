# expect inp.g: error | broadcast-accident
def cross_entropy_grad(inp, targ):
    inp.g = (inp.softmax(-1) - targ) / len(targ)
