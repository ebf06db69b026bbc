# expect inp.g: wrong-type
def mse_grad(inp, targ):
    inp.g = 2 * (inp.squeeze(-1) - targ).numpy()[:, None] / len(inp)
