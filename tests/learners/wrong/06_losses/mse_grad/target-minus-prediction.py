# expect inp.g: wrong-sign
def mse_grad(inp, targ):
    inp.g = 2 * (targ - inp.squeeze(-1)).unsqueeze(-1) / len(inp)
