# expect inp.g: wrong-factor
def mse_grad_nd(inp, targ):
    inp.g = 2 * (inp - targ) / sum(inp.shape)
