# expect inp.g: wrong-operand
def softmax_grad(inp, out):
    inp.g = out * out.g - out**2 * out.g.sum(-1, keepdim=True)
