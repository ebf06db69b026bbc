# expect inp.g: wrong-local
def exp_grad(inp, out):
    inp.g = out.g.exp()
