# expect inp.g: broadcast-accident
def cross_entropy_grad(inp, targ):
    g = inp.softmax(-1)
    g[:, targ] -= 1
    inp.g = g / len(targ)
