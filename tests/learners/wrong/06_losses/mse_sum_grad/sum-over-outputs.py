# expect inp.g: wrong-shape | summed-wrong-axis | extra-batch-sum
def mse_sum_grad(inp, targ):
    inp.g = (2 * (inp - targ)).sum(dim=1)
