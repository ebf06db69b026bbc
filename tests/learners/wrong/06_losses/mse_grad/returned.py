# expect inp.g: returned-not-stored
def mse_grad(inp, targ):
    return 2 * (inp - targ.unsqueeze(1)) / len(targ)
