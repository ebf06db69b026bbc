# expect inp.g: wrong-point
def mse_sum_grad(inp, targ):
    inp.g = 2.0 * inp
