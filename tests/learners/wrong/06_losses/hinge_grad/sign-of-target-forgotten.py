# expect inp.g: missing-local
def hinge_grad(inp, targ):
    inp.g = -(targ * inp < 1).float() / len(inp)
