# expect inp.g: unknown | wrong-operand
def mse_grad(inp, targ):
    inp.g = 2 * (inp - targ.sort().values.unsqueeze(-1)) / len(targ)
