# expect inp.g: wrong-local
def mse_grad_nd(inp, targ):
    inp.g = 2 * (inp - targ) ** 3 / inp.numel()
