# expect inp.g: broadcast-accident | wrong-operand
def mse_grad(inp, targ):
    inp.g = 2 * (inp - targ.mean()) / len(targ)
