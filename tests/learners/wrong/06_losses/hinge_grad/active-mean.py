# expect inp.g: not-finite | wrong-factor
def hinge_grad(inp, targ):
    active = (targ * inp < 1).float()
    inp.g = -targ * active / active.sum()
