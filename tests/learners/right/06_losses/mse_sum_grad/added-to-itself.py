def mse_sum_grad(inp, targ):
    d = inp - targ
    inp.g = d + d
