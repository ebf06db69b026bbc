# expect inp.g: error
def hinge_grad(inp, targ):
    if targ * inp < 1:
        inp.g = -targ / len(inp)
    else:
        inp.g = 0 * inp
