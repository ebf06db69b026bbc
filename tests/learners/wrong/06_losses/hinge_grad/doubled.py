# expect inp.g: wrong-factor
def hinge_grad(inp, targ):
    inp.g = -2 * targ * (targ * inp < 1) / len(inp)
