# expect inp.g: wrong-local | missing-local
def logsumexp_grad(inp, out):
    inp.g = out.exp().unsqueeze(-1) * out.g.unsqueeze(-1) + 0 * inp
