# expect inp.g: summed-wrong-axis | extra-batch-sum | unknown
def mse_grad_nd(inp, targ):
    d = (inp - targ).sum(1, keepdim=True)
    inp.g = (2 * d / inp.numel()).expand_as(inp)
