# expect inp.g: inverted-mask
def hinge_grad(inp, targ):
    inp.g = -targ * (targ * inp > 1) / len(inp)
