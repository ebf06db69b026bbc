# expect inp.g: partial-batch
def cross_entropy_grad(inp, targ):
    g = inp.softmax(-1)
    for i, t in enumerate(targ):
        if t > 0:
            g[i, t] -= 1
    inp.g = g / len(inp)
