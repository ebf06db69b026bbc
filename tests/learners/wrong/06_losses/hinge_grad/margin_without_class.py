# expect inp.g: wrong-point | missing-local
def hinge_grad(inp, targ):
    inp.g = -targ * (inp < 1) / len(inp)
