# expect inp.g: missing-local
def hinge_grad(inp, targ):
    inp.g = -targ / len(targ)
