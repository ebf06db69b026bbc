# expect inp.g: wrong-factor | sum-for-mean
def mse_grad_nd(inp, targ):
    inp.g = 2 * (inp - targ) / inp.size(0)
