# expect inp.g: wrong-operand
def dropout_grad(inp, out, mask, p):
    inp.g = out.g * inp / (1 - p)
