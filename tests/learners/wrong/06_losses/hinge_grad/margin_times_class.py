# expect inp.g: extra-factor | wrong-operand
def hinge_grad(inp, targ):
    inp.g = -targ * inp * (targ * inp < 1) / len(inp)
