# expect inp.g: wrong-shape
def mse_grad(inp, targ):
    inp.g = 2 * (inp.squeeze(-1) - targ) / len(targ)
