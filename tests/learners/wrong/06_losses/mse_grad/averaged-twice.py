# expect inp.g: extra-factor
def mse_grad(inp, targ):
    n = len(targ)
    dmean = 1 / n
    diff = (inp.squeeze(-1) - targ).unsqueeze(-1)
    inp.g = dmean * 2 * diff / n
