# expect inp.g: wrong-local | extra-factor
def hinge_grad(inp, targ):
    slack = (1 - targ * inp).clamp_min(0)
    inp.g = -2 * targ * slack / len(inp)
