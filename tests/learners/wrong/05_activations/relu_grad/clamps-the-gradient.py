# expect inp.g: wrong-point | wrong-operand
def relu_grad(inp, out):
    inp.g = out.g.clamp_min(0)
