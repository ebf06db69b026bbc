# expect inp.g: mean-for-sum
def mse_sum_grad(inp, targ):
    inp.g = 2 * (inp - targ) / inp.shape[0]
