# expect inp.g: sum-for-mean
def hinge_grad(inp, targ):
    inp.g = -targ * (1 - targ * inp > 0)
