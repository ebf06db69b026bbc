# expect inp.g: wrong-operand | broadcast-accident
def cross_entropy_grad(inp, targ):
    inp.g = (inp.softmax(-1) - 1) / len(targ)
