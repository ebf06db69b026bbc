# expect inp.g: wrong-point
def mse_grad(inp, targ):
    inp.g = 2 * inp / len(inp)
