# expect inp.g: wrong-local
def sigmoid_grad(inp, out):
    inp.g = inp.sigmoid() * out.g
