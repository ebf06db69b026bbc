# expect inp.g: wrong-local
def gelu_grad(inp, out):
    inp.g = (inp > 0) * out.g
