# expect inp.g: wrong-factor | wrong-local
def hinge_grad(inp, targ):
    active = (targ * inp < 1).float()
    inp.g = -targ * active / active.sum().clamp_min(1)
