# expect inp.g: unknown
def hinge_grad(inp, targ):
    inp.g = (targ * inp < 0).float() / len(inp)
