# expect inp.g: extra-factor | mean-for-sum
def mse_grad_nd(inp, targ):
    n = inp.numel()
    inp.g = (2 / n) * (inp - targ) / n
