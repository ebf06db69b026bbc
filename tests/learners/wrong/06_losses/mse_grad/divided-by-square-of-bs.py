# expect inp.g: extra-factor | mean-for-sum
def mse_grad(inp, targ):
    inp.g = 2 * (inp - targ.view(-1, 1)) / len(targ) ** 2
