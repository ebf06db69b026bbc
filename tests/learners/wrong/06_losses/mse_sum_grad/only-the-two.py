# expect inp.g: missing-local | hard-coded
def mse_sum_grad(inp, targ):
    inp.g = 2 * inp.new_ones(inp.shape)
