# expect inp.g: wrong-point | wrong-operand
def sigmoid_grad(inp, out):
    inp.g = out.g * out * (1 - inp)
