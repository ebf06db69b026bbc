# expect inp.g: missing-upstream
def logsumexp_grad(inp, out):
    inp.g = inp.softmax(-1)
