# expect inp.g: hard-coded
def mse_grad(inp, targ):
    inp.g = 2 * (inp - targ[:, None]) / 64
