# expect inp.g: wrong-point
def hinge_grad(inp, targ):
    inp.g = -targ * (inp < 1) / len(inp)
