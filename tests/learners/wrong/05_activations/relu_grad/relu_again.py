# expect inp.g: wrong-point | wrong-operand
def relu_grad(inp, out):
    # backward of relu is relu of the gradient
    inp.g = out.g.clamp_min(0)
