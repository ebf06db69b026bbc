# expect inp.g: extra-factor | wrong-operand
def dropout_grad(inp, out, mask, p):
    inp.g = out.g * inp * mask / (1 - p)
