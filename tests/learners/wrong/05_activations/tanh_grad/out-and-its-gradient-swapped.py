# expect inp.g: wrong-operand | value-for-gradient
def tanh_grad(inp, out):
    inp.g = (1 - out.g ** 2) * out
