# expect inp.g: missing-local | wrong-factor | missing-path
def mse_grad(inp, targ):
    inp.g = (inp.squeeze(-1) - targ).unsqueeze(-1) / inp.shape[0]
