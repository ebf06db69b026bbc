# expect inp.g: mean-for-sum | extra-factor
def mse_grad_nd(inp, targ):
    bs, c = inp.shape
    inp.g = 2 * (inp - targ) / bs / c / c
