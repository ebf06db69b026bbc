# expect inp.g: wrong-local | wrong-point
def hinge_grad(inp, targ):
    inp.g = -targ * (inp.abs() < 1) / len(inp)
