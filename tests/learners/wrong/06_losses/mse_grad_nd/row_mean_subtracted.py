# expect inp.g: wrong-operand
def mse_grad_nd(inp, targ):
    inp.g = 2 * (inp - targ.mean(0)) / inp.numel()
