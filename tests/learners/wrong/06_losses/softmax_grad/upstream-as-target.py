# expect inp.g: wrong-local | wrong-operand
def softmax_grad(inp, out):
    inp.g = out - out.g
