# expect inp.g: wrong-operand | wrong-local
def cross_entropy_grad(inp, targ):
    inp.g = (inp.softmax(-1) - targ[:, None]) / len(targ)
