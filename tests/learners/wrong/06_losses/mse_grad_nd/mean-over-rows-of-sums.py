# expect inp.g: sum-for-mean | wrong-factor
def mse_grad_nd(inp, targ):
    bs = inp.size(0)
    inp.g = (2.0 / bs) * inp.sub(targ)
