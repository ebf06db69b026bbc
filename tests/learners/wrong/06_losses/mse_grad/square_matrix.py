# expect inp.g: broadcast-accident | wrong-shape
def mse_grad(inp, targ):
    inp.g = 2 * (inp - targ) / inp.shape[0]
