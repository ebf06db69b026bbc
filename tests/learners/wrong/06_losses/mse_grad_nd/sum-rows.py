# expect inp.g: summed-wrong-axis
def mse_grad_nd(inp, targ):
    inp.g = (2 * (inp - targ)).sum(1, keepdim=True).expand_as(inp) / inp.numel()
