# expect inp.g: wrong-operand | unknown
def mse_grad(inp, targ):
    inp.g = 2 * (inp - targ.mean()) / len(targ)
