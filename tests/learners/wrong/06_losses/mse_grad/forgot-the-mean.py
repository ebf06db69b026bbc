# expect inp.g: sum-for-mean
def mse_grad(inp, targ):
    inp.g = 2.0 * (inp.squeeze(-1) - targ).unsqueeze(-1)
