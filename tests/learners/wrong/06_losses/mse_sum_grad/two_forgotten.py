# expect inp.g: missing-local | wrong-factor
def mse_sum_grad(inp, targ):
    inp.g = inp - targ
