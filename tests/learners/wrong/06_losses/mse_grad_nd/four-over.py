# expect inp.g: wrong-factor | extra-factor
def mse_grad_nd(inp, targ):
    inp.g = 4 * (inp - targ) / inp.numel()
