# expect inp.g: wrong-sign
def mse_grad_nd(inp, targ):
    bs, c = inp.shape
    inp.g = 2 * (targ - inp) / (bs * c)
