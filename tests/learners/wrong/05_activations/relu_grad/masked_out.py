# expect inp.g: value-for-gradient | forward-value
def relu_grad(inp, out):
    inp.g = (inp > 0).float() * out
