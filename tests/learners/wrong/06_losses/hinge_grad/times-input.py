# expect inp.g: wrong-operand | forward-value
def hinge_grad(inp, targ):
    inp.g = -inp * (targ * inp < 1) / len(inp)
