# expect inp.g: wrong-sign
def mse_grad(inp, targ):
    inp.g = 2 * (targ[:, None] - inp) / inp.shape[0]
