# expect inp.g: broadcast-accident
def mse_grad(inp, targ):
    diff = (inp - targ).mean(dim=1)
    inp.g = 2 * diff[:, None] / len(targ)
