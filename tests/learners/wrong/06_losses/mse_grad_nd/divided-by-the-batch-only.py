# expect inp.g: sum-for-mean | wrong-factor
def mse_grad_nd(inp, targ):
    inp.g = 2 * (inp - targ) / len(inp)
