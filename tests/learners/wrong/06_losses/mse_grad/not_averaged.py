# expect inp.g: sum-for-mean | missing-local
def mse_grad(inp, targ):
    inp.g = 2. * (inp.squeeze() - targ).unsqueeze(-1)
