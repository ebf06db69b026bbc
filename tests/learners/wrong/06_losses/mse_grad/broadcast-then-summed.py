# expect inp.g: broadcast-accident
def mse_grad(inp, targ):
    diff = inp - targ
    inp.g = 2 * diff.sum(1, keepdim=True) / inp.shape[0]
