# expect inp.g: returned-not-stored
def mse_sum_grad(inp, targ):
    return 2 * (inp - targ)
