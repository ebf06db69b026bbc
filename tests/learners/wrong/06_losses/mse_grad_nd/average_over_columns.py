# expect inp.g: wrong-factor | sum-for-mean
def mse_grad_nd(inp, targ):
    bs, c = inp.shape
    inp.g = 2 / c * (inp - targ)
