# expect inp.g: mutated-input
def cross_entropy_grad(inp, targ):
    inp.g = inp.softmax(-1) / len(targ)
    inp[range(len(targ)), targ] -= 1 / len(targ)
