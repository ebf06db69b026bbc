# expect inp.g: wrong-local | wrong-sign
def sigmoid_grad(inp, out):
    e = inp.exp()
    inp.g = e / (1 + e) * out.g
