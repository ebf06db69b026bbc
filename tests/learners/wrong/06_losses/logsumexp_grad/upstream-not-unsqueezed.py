# expect inp.g: error | shape-special
def logsumexp_grad(inp, out):
    inp.g = inp.softmax(-1) * out.g
