# expect inp.g: wrong-operand
def cross_entropy_grad(inp, targ):
    p = inp.softmax(-1)
    p[range(len(targ)), targ - 1] -= 1
    inp.g = p / len(targ)
