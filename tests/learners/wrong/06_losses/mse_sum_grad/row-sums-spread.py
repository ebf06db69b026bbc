# expect inp.g: summed-wrong-axis | unknown
def mse_sum_grad(inp, targ):
    inp.g = (2 * (inp - targ)).sum(1, keepdim=True).expand_as(inp)
