# expect inp.g: wrong-shape | summed-wrong-axis
def mse_grad_nd(inp, targ):
    inp.g = 2 * (inp - targ).mean(-1) / len(inp)
