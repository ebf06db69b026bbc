# expect inp.g: missing-local
def exp_grad(inp, out):
    inp.g = out.g.clone()
