# expect inp.g: broadcast-accident
def mse_grad(inp, targ):
    diff = inp - targ
    inp.g = 2 * diff.mean(1, keepdim=True) / len(inp)
