# expect inp.g: not-linear
def log_grad(inp, out):
    inp.g = inp / out.g
