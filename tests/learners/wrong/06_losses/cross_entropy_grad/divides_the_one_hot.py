# expect inp.g: sum-for-mean | missing-local
def cross_entropy_grad(inp, targ):
    inp.g = inp.softmax(-1)
    inp.g[range(len(targ)), targ] -= 1 / len(targ)
