# expect inp.g: wrong-point | wrong-local
def logsumexp_grad(inp, out):
    inp.g = inp.exp() / out.unsqueeze(-1) * out.g.unsqueeze(-1)
