# expect inp.g: unknown | extra-factor
def mse_grad_nd(inp, targ):
    inp.g = 2 * (inp - targ) / targ / inp.numel()
