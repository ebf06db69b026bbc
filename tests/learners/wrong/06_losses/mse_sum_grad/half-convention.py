# expect inp.g: missing-local
def mse_sum_grad(inp, targ):
    # as if the loss were half of the sum
    inp.g = (inp - targ).clone()
