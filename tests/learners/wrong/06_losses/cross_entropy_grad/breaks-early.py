# expect inp.g: partial-batch
def cross_entropy_grad(inp, targ):
    g = inp.softmax(-1)
    for i in range(len(targ) - 1):
        g[i, targ[i]] -= 1
    inp.g = g / len(inp)
