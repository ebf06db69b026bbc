# expect inp.g: wrong-sign
def mse_grad(inp, targ):
    inp.g = 2 * (targ.unsqueeze(1) - inp) / len(targ)
