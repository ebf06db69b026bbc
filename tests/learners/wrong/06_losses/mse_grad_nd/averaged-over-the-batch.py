# expect inp.g: extra-batch-sum
def mse_grad_nd(inp, targ):
    g = (2 * (inp - targ) / inp.shape[1]).mean(0, keepdim=True)
    inp.g = g.expand(inp.shape) / len(inp)
