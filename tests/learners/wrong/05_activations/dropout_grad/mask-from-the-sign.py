# expect inp.g: wrong-operand | inverted-mask | wrong-local
def dropout_grad(inp, out, mask, p):
    inp.g = out.g * (out > 0) / (1 - p)
