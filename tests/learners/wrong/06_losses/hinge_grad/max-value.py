# expect inp.g: forward-value | unknown
def hinge_grad(inp, targ):
    inp.g = (1 - targ * inp).clamp_min(0) / len(inp)
