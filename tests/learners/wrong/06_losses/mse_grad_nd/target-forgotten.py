# expect inp.g: wrong-point
def mse_grad_nd(inp, targ):
    inp.g = 2 * inp / inp.numel()
