# expect inp.g: wrong-local
def mse_grad(inp, targ):
    diff = inp - targ[:, None]
    inp.g = 2 * diff.sign() / len(inp)
