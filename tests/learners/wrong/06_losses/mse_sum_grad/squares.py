# expect inp.g: wrong-local | forward-value
def mse_sum_grad(inp, targ):
    inp.g = (inp - targ) ** 2
