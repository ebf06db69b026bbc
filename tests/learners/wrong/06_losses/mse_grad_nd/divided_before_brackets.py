# expect inp.g: missing-local
def mse_grad_nd(inp, targ):
    inp.g = inp - targ * 2 / inp.numel()
