# expect inp.g: wrong-shape | extra-batch-sum
def mse_sum_grad(inp, targ):
    inp.g = (2 * (inp - targ)).sum(0)
