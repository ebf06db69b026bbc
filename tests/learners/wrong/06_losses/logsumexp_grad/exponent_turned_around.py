# expect inp.g: wrong-sign | wrong-local
def logsumexp_grad(inp, out):
    inp.g = (out.unsqueeze(-1) - inp).exp() * out.g.unsqueeze(-1)
