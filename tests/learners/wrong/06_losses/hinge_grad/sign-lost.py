# expect inp.g: wrong-sign
def hinge_grad(inp, targ):
    inp.g = targ * (targ * inp < 1).float() / len(inp)
