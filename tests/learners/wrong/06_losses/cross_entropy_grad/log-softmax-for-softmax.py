# expect inp.g: wrong-local | wrong-point
def cross_entropy_grad(inp, targ):
    g = inp.log_softmax(-1)
    g[range(len(targ)), targ] -= 1
    inp.g = g / len(targ)
