# expect inp.g: wrong-point | wrong-operand
def tanh_grad(inp, out):
    inp.g = (1 - inp * out) * out.g
