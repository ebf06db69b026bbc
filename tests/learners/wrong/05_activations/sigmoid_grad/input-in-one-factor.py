# expect inp.g: wrong-point | wrong-operand
def sigmoid_grad(inp, out):
    inp.g = inp * (1 - out) * out.g
