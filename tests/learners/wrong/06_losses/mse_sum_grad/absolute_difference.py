# expect inp.g: wrong-sign | wrong-local
def mse_sum_grad(inp, targ):
    inp.g = 2 * (inp - targ).abs()
