# expect inp.g: wrong-local
def mse_grad(inp, targ):
    inp.g = (inp - targ.unsqueeze(-1)) ** 2 / len(targ)
