# expect inp.g: wrong-local
def mse_grad(inp, targ):
    diff = inp.squeeze(-1) - targ
    inp.g = 2 * diff.pow(2).unsqueeze(-1) / diff.numel()
