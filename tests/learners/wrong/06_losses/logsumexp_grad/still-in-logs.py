# expect inp.g: wrong-point | missing-local | wrong-local
def logsumexp_grad(inp, out):
    inp.g = (inp - out.unsqueeze(-1)) * out.g.unsqueeze(-1)
