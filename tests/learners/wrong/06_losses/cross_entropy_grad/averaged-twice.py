# expect inp.g: extra-factor | mean-for-sum
def cross_entropy_grad(inp, targ):
    g = inp.softmax(-1) / len(targ)
    g[range(len(targ)), targ] -= 1 / len(targ)
    inp.g = g / len(targ)
