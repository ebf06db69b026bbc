# expect inp.g: wrong-local | wrong-point
def exp_grad(inp, out):
    inp.g = out.log() * out.g
