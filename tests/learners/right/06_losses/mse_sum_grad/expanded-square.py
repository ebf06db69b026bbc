def mse_sum_grad(inp, targ):
    # x**2 - 2xt + t**2
    inp.g = 2 * inp - 2 * targ
