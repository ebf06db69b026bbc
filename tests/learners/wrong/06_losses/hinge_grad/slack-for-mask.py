# expect inp.g: wrong-local
def hinge_grad(inp, targ):
    slack = (1 - targ * inp).clamp_min(0)
    inp.g = -targ * slack / len(inp)
