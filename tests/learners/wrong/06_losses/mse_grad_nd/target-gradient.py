# expect inp.g: missing-answer | wrong-sign
def mse_grad_nd(inp, targ):
    targ.g = -2 * (inp - targ) / targ.numel()
