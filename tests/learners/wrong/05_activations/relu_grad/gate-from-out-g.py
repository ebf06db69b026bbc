# expect inp.g: wrong-operand | wrong-point
def relu_grad(inp, out):
    inp.g = (out.g > 0) * out.g
