# expect inp.g: wrong-local | missing-local
def hinge_grad(inp, targ):
    inp.g = -targ * (targ * inp < 2) / len(inp)
