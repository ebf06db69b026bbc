# expect inp.g: wrong-local | wrong-factor
def mse_grad_nd(inp, targ):
    d = inp - targ
    inp.g = d / d.numel() / d.pow(2).mean().sqrt()
