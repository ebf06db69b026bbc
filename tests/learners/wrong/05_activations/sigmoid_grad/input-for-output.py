# expect inp.g: wrong-point
def sigmoid_grad(inp, out):
    inp.g = inp * (1 - inp) * out.g
