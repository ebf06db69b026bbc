# expect inp.g: missing-local
def mse_grad(inp, targ):
    inp.g = (inp.squeeze(-1) - targ).unsqueeze(-1) / inp.shape[0]
