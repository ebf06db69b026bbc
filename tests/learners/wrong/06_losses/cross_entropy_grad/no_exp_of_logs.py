# expect inp.g: wrong-local | wrong-point
def cross_entropy_grad(inp, targ):
    p = inp.log_softmax(-1)
    p[range(len(targ)), targ] -= 1
    inp.g = p / len(targ)
