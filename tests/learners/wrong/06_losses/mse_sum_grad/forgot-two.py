# expect inp.g: missing-local
def mse_sum_grad(inp, targ):
    inp.g = inp - targ
