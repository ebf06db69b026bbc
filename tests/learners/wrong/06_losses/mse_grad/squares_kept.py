# expect inp.g: wrong-local | forward-value
def mse_grad(inp, targ):
    inp.g = (inp - targ[:, None]) ** 2 / len(inp)
