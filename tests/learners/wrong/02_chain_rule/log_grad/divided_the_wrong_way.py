# expect inp.g: wrong-local | wrong-operand
def log_grad(inp, out):
    inp.g = inp / out.g
