# expect inp.g: forward-value
def mse_grad_nd(inp, targ):
    inp.g = (inp - targ).pow(2).mean()
