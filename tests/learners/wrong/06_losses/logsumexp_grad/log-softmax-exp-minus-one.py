# expect inp.g: wrong-local
def logsumexp_grad(inp, out):
    inp.g = (inp.softmax(-1) - 1) * out.g.unsqueeze(-1)
