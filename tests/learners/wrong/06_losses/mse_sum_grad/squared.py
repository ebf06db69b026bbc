# expect inp.g: wrong-local
def mse_sum_grad(inp, targ):
    inp.g = 2 * (inp - targ) ** 2
