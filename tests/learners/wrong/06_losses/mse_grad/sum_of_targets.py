# expect inp.g: wrong-sign
def mse_grad(inp, targ):
    inp.g = 2 * (inp + targ.unsqueeze(1)) / len(targ)
